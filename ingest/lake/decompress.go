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
	gzip   *gzip.Reader
	brotli *brotli.Reader
}

func readableCodec(codec format.CompressionCodec) bool {
	switch codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd, format.Lz4Raw:
		return true
	default:
		return false
	}
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
		z, err := d.zstandard()
		if err != nil {
			return err
		}
		out, err := z.DecodeAll(src, dst[:0:len(dst)])
		if err == nil && len(out) != len(dst) {
			err = wrongLength(len(out), len(dst))
		}
		return err
	default:
		r, err := d.stream(codec, bytes.NewReader(src))
		if err != nil {
			return noEOF(err)
		}
		return fill(dst, r)
	}
}

func (d *decompressor) zstandard() (_ *zstd.Decoder, err error) {
	if d.zstd == nil {
		// One worker, so that no goroutine is started; the capacity of the destination limits a
		// whole frame, whatever it claims.
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
	}
	return d.zstd, err
}

// stream returns a reader that decompresses src.
func (d *decompressor) stream(codec format.CompressionCodec, src io.Reader) (io.Reader, error) {
	switch codec {
	case format.Gzip:
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		return d.gzip, d.gzip.Reset(src)
	case format.Brotli:
		if d.brotli == nil {
			d.brotli = brotli.NewReader(nil)
		}
		return d.brotli, d.brotli.Reset(src)
	default:
		return nil, fmt.Errorf("codec %v is not read", codec)
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

// mostRatio bounds the number of bytes that a codec can make of a stored one.
func mostRatio(codec format.CompressionCodec) int64 {
	switch codec {
	case format.Uncompressed:
		return 1
	case format.Snappy:
		return 1 << 5 // a copy of three bytes makes 64
	case format.Lz4Raw:
		return 1 << 8 // a byte of a length counts 255
	case format.Gzip:
		return 1 << 11 // a code of two bits makes 258
	case format.Zstd:
		return 1 << 16 // a block of four bytes makes 128 KiB
	default:
		return 1 << 31
	}
}
