package lake

import (
	"bytes"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// A decompressor decompresses pages. Destinations have the exact size that the page's header
// states, so that damaged input allocates nothing more. It is for one goroutine at a time.
type decompressor struct {
	zstd   *zstd.Decoder
	gzip   gzip.Reader
	brotli *brotli.Reader
}

// codecs are those that are read, each with the number of bytes, at most, that it can make of a stored one.
var codecs = map[format.CompressionCodec]int64{
	format.Uncompressed: 1,
	format.Snappy:       1 << 5,  // a copy of three bytes makes 64
	format.Lz4Raw:       1 << 8,  // a byte of a length counts 255
	format.Gzip:         1 << 11, // a code of two bits makes 258
	format.Zstd:         1 << 16, // a block of four bytes makes 128 KiB
	format.Brotli:       1 << 31,
}

// decompress decompresses src into dst. Another length than that of dst is an error.
func (d *decompressor) decompress(codec format.CompressionCodec, dst, src []byte) (err error) {
	var n int
	switch codec {
	case format.Snappy:
		if n, err = snappy.DecodedLen(src); err == nil && n == len(dst) {
			_, err = snappy.Decode(dst, src)
		}
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(src, dst)
	case format.Zstd:
		if d.zstd == nil {
			// One worker, so that no goroutine is started; the capacity of the destination limits a
			// whole frame, whatever it claims.
			d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
			if err != nil {
				return err
			}
		}
		var out []byte
		out, err = d.zstd.DecodeAll(src, dst[:0:len(dst)])
		n = len(out)
	case format.Gzip:
		return fill(dst, src, &d.gzip)
	case format.Brotli:
		if d.brotli == nil {
			d.brotli = new(brotli.Reader)
		}
		return fill(dst, src, d.brotli)
	default:
		return fmt.Errorf("codec %v is not read", codec)
	}
	if err == nil && n != len(dst) {
		return wrongLength(n, len(dst))
	}
	return err
}

// A streamer decompresses a stream.
type streamer interface {
	io.Reader
	Reset(from io.Reader) error
}

// fill decompresses all of src into dst. Another length than that of dst is an error, but never
// io.EOF, which would mean the end of the chunk.
func fill(dst, src []byte, r streamer) error {
	err := r.Reset(bytes.NewReader(src))
	if err == nil {
		_, err = io.ReadFull(r, dst)
	}
	if err != nil {
		return noEOF(err)
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return fmt.Errorf("the page is longer than its header says: %w", errMalformed)
	case err != io.EOF:
		return err // a wrong checksum at the end
	}
	return nil
}

func wrongLength(got, want int) error {
	return fmt.Errorf("the page has %d bytes, its header says %d: %w", got, want, errMalformed)
}
