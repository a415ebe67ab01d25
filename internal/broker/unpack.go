package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"
)

// maxUnpacked bounds the unpacked size of a batch, in bytes: 256 MiB.
const maxUnpacked = 1 << 28

var errUnpacked = fmt.Errorf("it unpacks to more than %d MiB", maxUnpacked>>20)

// unpack returns the records of a batch uncompressed. It checks claimed sizes against the limit
// before it allocates memory.
func unpack(with compress.Compression, packed []byte, buf *[]byte) (out []byte, err error) {
	switch with {
	case compress.None:
		return packed, nil
	case compress.Snappy:
		out, err = unpackSnappy((*buf)[:0], packed)
	case compress.Zstd:
		out, err = unzstd.DecodeAll(packed, (*buf)[:0])
	case compress.Gzip, compress.Lz4:
		r := with.Codec().NewReader(bytes.NewReader(packed))
		to := bytes.NewBuffer((*buf)[:0])
		var n int64
		n, err = io.Copy(to, io.LimitReader(r, maxUnpacked+1))
		if err = errors.Join(err, r.Close()); err == nil && n > maxUnpacked {
			err = errUnpacked
		}
		out = to.Bytes()
	default:
		return nil, fmt.Errorf("compression %d is unknown", with)
	}
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = errUnpacked
	}
	if err != nil {
		return nil, fmt.Errorf("unpack a batch of %d bytes: %w", len(packed), err)
	}
	*buf = out
	return out, nil
}

// unzstd is safe for concurrent use. An error would mean wrong options, and fail the first test.
var unzstd, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderConcurrency(0))

// snappyFrames is how data of Java clients begins: 16 bytes, then blocks with their lengths in
// front. Other clients write one block.
const snappyFrames = "\x82SNAPPY\x00"

func unpackSnappy(to, packed []byte) ([]byte, error) {
	const head = 16
	if len(packed) < head || string(packed[:len(snappyFrames)]) != snappyFrames {
		return appendSnappy(to, packed)
	}
	for packed = packed[head:]; len(packed) > 0; {
		if len(packed) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		size := int64(binary.BigEndian.Uint32(packed))
		if packed = packed[4:]; size > int64(len(packed)) {
			return nil, io.ErrUnexpectedEOF
		}
		var err error
		if to, err = appendSnappy(to, packed[:size]); err != nil {
			return nil, err
		}
		packed = packed[size:]
	}
	return to, nil
}

// appendSnappy unpacks one block and appends it.
func appendSnappy(to, block []byte) ([]byte, error) {
	// A block can copy at most 64 bytes with 2 of its own.
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if len(to)+n > maxUnpacked {
		return nil, errUnpacked
	}
	if n > 64*len(block) {
		return nil, fmt.Errorf("a block of %d bytes cannot hold %d", len(block), n)
	}
	to = append(to, make([]byte, n)...)
	_, err = snappy.Decode(to[len(to)-n:], block)
	return to, err
}
