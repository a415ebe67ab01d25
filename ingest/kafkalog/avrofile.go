package kafkalog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/avro"
)

const (
	containerMagic = "Obj\x01"
	syncBytes      = 16
	// maxAvroSchema bounds the text of a schema.
	maxAvroSchema = 1 << 20
)

// container reads the rows of an object container file.
func (r *avroReader) container(value []byte, columns [][]float64) (rows int, err error) {
	if len(value) < len(containerMagic) || string(value[:len(containerMagic)]) != containerMagic {
		return 0, errors.New("it is no Avro object container file, and neither schema nor registry is declared for records that are less than that")
	}
	r.in = value[len(containerMagic):]
	schema, codec, err := r.header()
	if err != nil {
		return 0, err
	}
	t, err := r.containerType(schema)
	if err != nil {
		return 0, err
	}
	sync, err := r.take(syncBytes)
	if err != nil {
		return 0, err
	}
	unpacked := 0
	for len(r.in) > 0 {
		count, err := r.long()
		if err != nil {
			return 0, err
		}
		size, err := r.long()
		if err != nil {
			return 0, err
		}
		packed, err := r.take(size)
		if err != nil {
			return 0, err
		}
		end, err := r.take(syncBytes)
		if err != nil || !bytes.Equal(end, sync) {
			return 0, fmt.Errorf("%w: a block does not end with the mark of its file", errAvro)
		}
		if count < 0 || count > MaxSegmentRows-int64(rows) {
			return 0, fmt.Errorf("it has more than %d rows", MaxSegmentRows)
		}
		rest := r.in
		if r.in, err = r.unpack(codec, packed, maxArrowBytes-unpacked); err != nil {
			return 0, err
		}
		unpacked += len(r.in)
		r.left += len(r.in)
		for range count {
			if err := r.rowOf(t, columns); err != nil {
				return 0, err
			}
		}
		if len(r.in) > 0 {
			return 0, fmt.Errorf("%w: %d bytes behind the last row of a block", errAvro, len(r.in))
		}
		r.in, rows = rest, rows+int(count)
	}
	return rows, nil
}

// header reads the map behind the magic.
func (r *avroReader) header() (schema, codec string, err error) {
	r.depth, r.left = 0, avroValues
	text := func() (string, error) {
		n, err := r.long()
		if err != nil {
			return "", err
		}
		b, err := r.take(n)
		return string(b), err
	}
	for {
		n, err := r.long()
		if err != nil {
			return "", "", err
		}
		if n == 0 {
			return schema, codec, nil
		}
		if n < 0 {
			n = -n
			if _, err := r.long(); err != nil {
				return "", "", err
			}
		}
		for range n {
			key, err := text()
			if err != nil {
				return "", "", err
			}
			value, err := text()
			if err != nil {
				return "", "", err
			}
			switch key {
			case "avro.schema":
				schema = value
			case "avro.codec":
				codec = value
			}
		}
	}
}

// containerType is the type of a container's schema. Those of one topic have the same.
func (r *avroReader) containerType(schema string) (*avroType, error) {
	if r.ownType != nil && schema == r.own {
		return r.ownType, nil
	}
	t, err := parseAvro(schema, r.columns)
	if err != nil {
		return nil, err
	}
	r.own, r.ownType = schema, t
	return t, nil
}

// parseAvro makes the type of a schema that refers to no other.
func parseAvro(schema string, columns *jsonNode) (*avroType, error) {
	if len(schema) > maxAvroSchema {
		return nil, fmt.Errorf("an Avro schema of %d bytes, want at most %d", len(schema), maxAvroSchema)
	}
	s, err := avro.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("the Avro schema: %w", err)
	}
	root := s.Root()
	return compileAvro(root, avroNames{}, columns)
}

// unpack returns the bytes of a block.
func (r *avroReader) unpack(codec string, packed []byte, most int) ([]byte, error) {
	var in io.Reader
	switch codec {
	case "", "null":
		return packed, nil
	case "snappy":
		if len(packed) < 4 {
			return nil, errAvro
		}
		data, sum := packed[:len(packed)-4], binary.BigEndian.Uint32(packed[len(packed)-4:])
		n, err := snappy.DecodedLen(data)
		if err != nil || n > most {
			return nil, fmt.Errorf("%w: a block unpacks to %d bytes, want at most %d", errAvro, n, most)
		}
		out, err := snappy.Decode(nil, data)
		if err != nil || crc32.ChecksumIEEE(out) != sum {
			return nil, fmt.Errorf("%w: a block is damaged", errAvro)
		}
		return out, nil
	case "deflate":
		in = flate.NewReader(bytes.NewReader(packed))
	case "zstandard":
		z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxArrowBytes), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	default:
		return nil, fmt.Errorf("the codec %.40q is not read", codec)
	}
	out, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("%w: unpack: %w", errAvro, err)
	}
	if len(out) > most {
		return nil, fmt.Errorf("%w: it unpacks to more than %d MiB", errAvro, maxArrowBytes>>20)
	}
	return out, nil
}
