package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/segmentio/kafka-go/compress"
	"github.com/twmb/franz-go/pkg/kbin"
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
	var head kmsg.RecordBatch
	if err := head.ReadFrom(data[:size]); err != nil {
		return b, nil, err
	}
	if sum, want := crc32.Checksum(data[attributesAt:size], castagnoli), uint32(head.CRC); sum != want {
		return b, nil, fmt.Errorf("checksum %08x of the batch is not %08x: it was damaged on its way or on the disk", sum, want)
	}
	b = Batch{
		First: head.FirstOffset, Last: head.FirstOffset + int64(head.LastOffsetDelta), Producer: head.ProducerID,
		Transactional: head.Attributes&0x10 != 0, Control: head.Attributes&0x20 != 0,
		left: int(head.NumRecords), firstTime: head.FirstTimestamp, appendAt: -1,
	}
	if head.Attributes&8 != 0 {
		b.appendAt = head.MaxTimestamp
	}
	if b.records, err = unpack(compress.Compression(head.Attributes&7), head.Records, buf); err != nil {
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
	all := kbin.Reader{Src: b.records}
	in := kbin.Reader{Src: all.Span(int(all.Varint()))}
	if !all.Ok() {
		return errRecord
	}
	b.records = all.Src
	b.left--
	in.Int8() // attributes, which are not used
	r.Time = b.firstTime + in.Varlong()
	if b.appendAt >= 0 {
		r.Time = b.appendAt
	}
	r.Offset = b.First + int64(in.Varint())
	r.Key = in.VarintBytes()
	r.Value = in.VarintBytes()
	r.Headers = r.Headers[:0]
	headers := in.VarintArrayLen()
	for range headers {
		r.Headers = append(r.Headers, Header{Key: in.VarintString(), Value: in.VarintBytes()})
	}
	if !in.Ok() || len(in.Src) != 0 || headers < 0 || r.Offset < b.First || r.Offset > b.Last {
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
