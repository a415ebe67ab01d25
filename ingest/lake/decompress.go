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
)

// A decompressor undoes the codecs of pages. The destination has the exact
// size that the page's header gives; nothing else is allocated by what damaged
// input claims. It is used by one goroutine at a time.
type decompressor struct {
	zstd   *zstd.Decoder
	gzip   *gzip.Reader
	brotli *brotli.Reader
}

// readableCodec reports whether decompress knows a codec.
func readableCodec(codec format.CompressionCodec) bool {
	switch codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd:
		return true
	default:
		return false
	}
}

// decompress fills dst with what src holds, which must be just as long.
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
	case format.Zstd:
		return d.decompressZstd(dst, src)
	case format.Gzip:
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		return fill(dst, d.gzip, src)
	case format.Brotli:
		if d.brotli == nil {
			d.brotli = brotli.NewReader(nil)
		}
		return fill(dst, d.brotli, src)
	default:
		return fmt.Errorf("codec %v is not read", codec)
	}
}

func (d *decompressor) decompressZstd(dst, src []byte) error {
	if d.zstd == nil {
		// One worker, so that no goroutine is started; the capacity of the
		// destination is the limit, whatever the frame claims.
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
		if err != nil {
			return err
		}
		d.zstd = z
	}
	out, err := d.zstd.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return err
	}
	if len(out) != len(dst) {
		return wrongLength(len(out), len(dst))
	}
	return nil
}

// A streamReader is a codec that has no other way than to be read.
type streamReader interface {
	io.Reader
	Reset(src io.Reader) error
}

// fill reads all that r makes of src into dst, which must be just as long. No error is
// io.EOF, which would be the end of the chunk.
func fill(dst []byte, r streamReader, src []byte) error {
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return noEOF(err)
	}
	if _, err := io.ReadFull(r, dst); err != nil {
		return noEOF(err)
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return fmt.Errorf("the page is longer than the %d bytes of its header: %w", len(dst), errMalformed)
	case err != io.EOF:
		return err // a wrong checksum at the end
	}
	return nil
}

func wrongLength(got, want int) error {
	return fmt.Errorf("the page has %d bytes, its header says %d: %w", got, want, errMalformed)
}
