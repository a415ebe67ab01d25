package lake

import (
	"bytes"
	"encoding/binary"
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
		if !wholeLZ4(src, len(dst)) {
			return errLZ4
		}
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
		r, err := d.stream(codec, bytes.NewReader(src), nil)
		if err != nil {
			return noEOF(err)
		}
		return fill(dst, r)
	}
}

var errLZ4 = fmt.Errorf("a block of LZ4 that is not whole, or ends in another way than the format wants: %w", errMalformed)

// wholeLZ4 reports whether src is a block of LZ4 that makes size bytes and ends as the format wants:
// in 5 literals at least, with the last match 12 bytes or more before the end. Decoders differ in
// what they take beside.
func wholeLZ4(src []byte, size int) bool {
	at, made := 0, 0
	length := func(n int) int {
		for more := n == 15; more && at < len(src) && n <= size; at++ {
			n += int(src[at])
			more = src[at] == 255
		}
		return n
	}
	for at < len(src) {
		token := src[at]
		at++
		literals := length(int(token >> 4))
		if literals > min(len(src)-at, size-made) {
			return false
		}
		at, made = at+literals, made+literals
		if len(src)-at < 2 {
			return at == len(src) && made == size
		}
		back := int(binary.LittleEndian.Uint16(src[at:]))
		at += 2
		match := length(int(token&15)) + 4
		if back == 0 || back > made || made > size-12 || match > size-made-5 {
			return false
		}
		made += match
	}
	return false
}

func (d *decompressor) zstandard() (_ *zstd.Decoder, err error) {
	if d.zstd == nil {
		// One worker, so that no goroutine is started; the capacity of the destination limits a
		// whole frame, whatever it claims.
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
	}
	return d.zstd, err
}

// stream returns a reader that decompresses src. first are the first bytes of src.
func (d *decompressor) stream(codec format.CompressionCodec, src io.Reader, first []byte) (io.Reader, error) {
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
	case format.Zstd:
		z, err := d.zstandard()
		if err != nil {
			return nil, err
		}
		// No further frame may look back farther than the first one, by which streaming was chosen.
		most := uint64(min(max(zstdWindow(first), zstd.MinWindowSize), maxPage))
		return z, z.ResetWithOptions(src, zstd.WithDecoderMaxWindow(most))
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
	return ended(r)
}

// ended returns an error unless r is at its end.
func ended(r io.Reader) error {
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
