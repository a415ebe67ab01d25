package arrowipc

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	codecZstd = 1
	unpacked  = -1 // in place of the length of a buffer that is stored as it is
	// lz4Checksum is the flag, in the byte after the magic of an LZ4 frame, that a checksum of the content follows.
	lz4Checksum = 1 << 2
)

// checksums compares the packed buffers of a record batch, and of the dictionaries with the first one, with the
// checksums of their frames. The library does not reach these: it reads a buffer up to its length, and the checksum is
// at the end of the frame. pyarrow and polars write none. Unpacked, the buffers may have left bytes: a message may
// claim buffers that the library never reads.
func (f *File) checksums(r io.ReaderAt, batch Batch, left int64) error {
	messages, kind := []block{batch.at}, byte(headerBatch)
	if batch.index == 0 {
		messages = append(messages, f.dictionaries...)
	}
	for _, at := range messages {
		d, err := descriptionAt(r, at, kind)
		if err != nil {
			return err
		}
		for _, b := range d.packed {
			start := at.offset + at.description + b.offset
			if err := checksum(io.NewSectionReader(r, start, b.body), d.codec, &left); err != nil {
				return fmt.Errorf("%w: the buffer at %d: %w", ErrDamaged, start, err)
			}
		}
		kind = headerDictionary
	}
	return nil
}

func checksum(buffer *io.SectionReader, codec int8, left *int64) error {
	head := make([]byte, min(buffer.Size(), 8+zstd.HeaderMaxSize))
	if _, err := buffer.ReadAt(head, 0); err != nil && len(head) > 0 {
		return err
	}
	if len(head) < 8+5 {
		return nil // empty
	}
	length, frame := int64(binary.LittleEndian.Uint64(head)), head[8:] //nolint:gosec // the format has a signed number
	var header zstd.Header
	has := frame[4]&lz4Checksum != 0
	if codec == codecZstd {
		has = header.Decode(frame) == nil && header.HasCheckSum
	}
	if length == unpacked || !has {
		return nil
	}
	if length < 0 || length > *left {
		return fmt.Errorf("it claims to unpack to %d bytes", length)
	}
	*left -= length
	packed := io.NewSectionReader(buffer, 8, buffer.Size()-8)
	var values io.Reader = lz4.NewReader(packed)
	if codec == codecZstd {
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		defer z.Close()
		values = z
	}
	n, err := io.Copy(io.Discard, io.LimitReader(values, length+1)) // one more, to reach the end of the frame
	if err == nil && n != length {
		err = fmt.Errorf("it unpacks to another length than %d", length)
	}
	return err
}
