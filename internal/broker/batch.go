package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/segmentio/kafka-go/compress"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Record is one record of a batch. Its bytes are valid until the next batch is read.
type Record struct {
	Offset  int64
	Time    int64  // milliseconds since 1970
	Key     []byte // nil if there is none
	Value   []byte // nil marks a tombstone
	Headers []Header
}

// A Header is one header of a record.
type Header = kmsg.Header

// A Batch is one record batch of version 2.
type Batch struct {
	First, Last   int64 // offsets; records between them may be missing
	Producer      int64 // −1 if there is none
	Transactional bool
	Control       bool // has a marker instead of data

	records   []byte
	left      int
	firstTime int64
	appendAt  int64 // time of all records if the broker sets it, −1 if each has its own
}

const headerBytes = 61

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errIncomplete means that the bytes end within a batch, where a broker cut its response.
var errIncomplete = errors.New("the bytes end within a batch")

// NextBatch checks and reads the first batch of data, and returns the rest. It unpacks the records
// into buf, which it grows.
func NextBatch(data []byte, buf *[]byte) (b Batch, rest []byte, err error) {
	if len(data) < 17 {
		return b, nil, errIncomplete
	}
	b.First = int64(binary.BigEndian.Uint64(data))
	size := int64(int32(binary.BigEndian.Uint32(data[8:]))) + 12
	if magic := data[16]; magic != 2 {
		return b, nil, fmt.Errorf("message format %d; formats older than 2 (Kafka 0.11) are not read", magic)
	}
	if size < headerBytes {
		return b, nil, fmt.Errorf("a batch of %d bytes", size)
	}
	if size > int64(len(data)) {
		return b, nil, errIncomplete
	}
	body := data[:size]
	if sum, want := crc32.Checksum(body[21:], castagnoli), binary.BigEndian.Uint32(body[17:]); sum != want {
		return b, nil, fmt.Errorf("checksum %08x of the batch is not %08x: it was damaged on its way or on the disk", sum, want)
	}
	attributes := binary.BigEndian.Uint16(body[21:])
	b.Last = b.First + int64(binary.BigEndian.Uint32(body[23:]))
	b.firstTime = int64(binary.BigEndian.Uint64(body[27:]))
	b.appendAt = -1
	if attributes&8 != 0 {
		b.appendAt = int64(binary.BigEndian.Uint64(body[35:]))
	}
	b.Producer = int64(binary.BigEndian.Uint64(body[43:]))
	b.Transactional, b.Control = attributes&0x10 != 0, attributes&0x20 != 0
	b.left = int(int32(binary.BigEndian.Uint32(body[57:])))
	if b.records, err = unpack(compress.Compression(attributes&7), body[headerBytes:], buf); err != nil {
		return b, nil, err
	}
	if b.left < 0 || b.left > len(b.records) || b.First < 0 || b.Last < b.First {
		return b, nil, fmt.Errorf("a batch of %d records in %d bytes at the offsets %d to %d", b.left, len(b.records), b.First, b.Last)
	}
	return b, data[size:], nil
}

// Next reads the next record into r and reuses its headers. It returns io.EOF after the last one.
func (b *Batch) Next(r *Record) error {
	if b.left == 0 {
		if len(b.records) != 0 {
			return fmt.Errorf("%d bytes behind the last record of a batch", len(b.records))
		}
		return io.EOF
	}
	in := cursor{data: b.records}
	size := in.varint()
	if size < 0 || size > int64(len(in.data)) {
		return errRecord
	}
	b.records = in.data[size:]
	in.data = in.data[:size]
	b.left--
	in.take(1) // attributes, which are not used
	r.Time = b.firstTime + in.varint()
	if b.appendAt >= 0 {
		r.Time = b.appendAt
	}
	r.Offset = b.First + in.varint()
	r.Key = in.bytes()
	r.Value = in.bytes()
	r.Headers = r.Headers[:0]
	headers := in.varint()
	if headers < 0 || headers > int64(len(in.data)) {
		return errRecord
	}
	for range headers {
		r.Headers = append(r.Headers, Header{Key: string(in.bytes()), Value: in.bytes()})
	}
	if in.bad || len(in.data) != 0 || r.Offset < b.First || r.Offset > b.Last {
		return errRecord
	}
	return nil
}

var errRecord = errors.New("a record's lengths contradict its batch")

// commits reports whether a control batch commits its transaction.
func (b *Batch) commits() (bool, error) {
	var r Record
	if err := b.Next(&r); err != nil {
		return false, err
	}
	if len(r.Key) < 4 {
		return false, errRecord
	}
	return binary.BigEndian.Uint16(r.Key[2:]) == 1, nil
}

// A cursor reads the fields of a record. bad is set if they exceed its data.
type cursor struct {
	data []byte
	bad  bool
}

func (c *cursor) take(n int64) []byte {
	if n < 0 || n > int64(len(c.data)) {
		c.bad, c.data = true, nil
		return nil
	}
	out := c.data[:n:n]
	c.data = c.data[n:]
	return out
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.data)
	if n <= 0 || v > math.MaxInt64/2 || v < math.MinInt64/2 {
		c.bad, c.data = true, nil
		return 0
	}
	c.data = c.data[n:]
	return v
}

// bytes reads a length and that many bytes. It returns nil for the length −1.
func (c *cursor) bytes() []byte {
	n := c.varint()
	if n == -1 {
		return nil
	}
	out := c.take(n)
	if out == nil {
		out = []byte{}
	}
	return out
}
