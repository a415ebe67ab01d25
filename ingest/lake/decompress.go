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

// codecs are those that are read, each with the number of bytes, at most, that it can make of a stored
// one.
var codecs = map[format.CompressionCodec]int64{
	format.Uncompressed: 1,
	format.Snappy:       1 << 5,  // a copy of three bytes makes 64
	format.Lz4Raw:       1 << 8,  // a byte of a length counts 255
	format.Gzip:         1 << 11, // a code of two bits makes 258
	format.Zstd:         1 << 16, // a block of four bytes makes 128 KiB
	format.Brotli:       1 << 31,
}

// decompress decompresses src into dst. Another length than that of dst is an error.
func (d *decompressor) decompress(codec format.CompressionCodec, dst, src []byte) error {
	switch codec {
	case format.Snappy:
		n, err := snappy.DecodedLen(src)
		if err != nil {
			return err
		}
		if n != len(dst) {
			return wrongLength(n, len(dst))
		}
		_, err = snappy.Decode(dst, src)
		return err
	case format.Lz4Raw:
		n, err := lz4.UncompressBlock(src, dst)
		if err == nil && n != len(dst) {
			err = wrongLength(n, len(dst))
		}
		return err
	case format.Zstd:
		if d.zstd == nil {
			// One worker, so that no goroutine is started; the capacity of the destination limits a
			// whole frame, whatever it claims.
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
			if err != nil {
				return err
			}
			d.zstd = z
		}
		out, err := d.zstd.DecodeAll(src, dst[:0:len(dst)])
		if err == nil && len(out) != len(dst) {
			err = wrongLength(len(out), len(dst))
		}
		return err
	case format.Gzip:
		if err := d.gzip.Reset(bytes.NewReader(src)); err != nil {
			return noEOF(err)
		}
		return fill(dst, &d.gzip)
	case format.Brotli:
		if d.brotli == nil {
			d.brotli = new(brotli.Reader)
		}
		if err := d.brotli.Reset(bytes.NewReader(src)); err != nil {
			return noEOF(err)
		}
		return fill(dst, d.brotli)
	default:
		return fmt.Errorf("codec %v is not read", codec)
	}
}

// fill reads all of r into dst. Another length than that of dst is an error, but never io.EOF,
// which would mean the end of the chunk.
func fill(dst []byte, r io.Reader) error {
	if _, err := io.ReadFull(r, dst); err != nil {
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
