package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/segmentio/kafka-go/compress"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Producer identifies the sender of batches, so that a broker stores a repeated batch only once.
type Producer struct {
	ID    int64
	Epoch int16
	// Transactional batches become readable when their transaction is committed.
	Transactional bool
}

// EncodeBatch returns an uncompressed record batch of version 2. sequence counts the records that
// the producer has sent to the partition before.
func EncodeBatch(p Producer, sequence int32, records []Record) []byte {
	return pack(records).framed(p, sequence)[lengthBytes:]
}

// A Packed is a batch of records that lacks only the numbers of its producer, its length and its checksum.
type Packed struct{ head kmsg.RecordBatch }

// Bytes returns the size of the batch, as max.message.bytes counts it.
func (b Packed) Bytes() int { return headerBytes + len(b.head.Records) }

// Pack makes a compressed batch of at least one record. Compression costs less than it saves in
// sending, checking and storing.
func Pack(records []Record) (Packed, error) {
	b := pack(records)
	var out bytes.Buffer
	out.Grow(len(b.head.Records) / 2)
	w := compress.Lz4.Codec().NewWriter(&out)
	_, err := w.Write(b.head.Records)
	if err := errors.Join(err, w.Close()); err != nil {
		return Packed{}, fmt.Errorf("kafka: compress a batch: %w", err)
	}
	if out.Len() < len(b.head.Records) {
		b.head.Records, b.head.Attributes = out.Bytes(), int16(compress.Lz4)
	}
	return b, nil
}

func pack(records []Record) Packed {
	size, first, last := 0, records[0].Time, records[0].Time
	for i := range records {
		size += len(records[i].Key) + len(records[i].Value) + 20 // an estimate of the other fields
		last = max(last, records[i].Time)
	}
	all := make([]byte, 0, size)
	var body []byte
	for i := range records {
		r := &records[i]
		of := kmsg.Record{TimestampDelta64: r.Time - first, OffsetDelta: int32(i), Key: r.Key, Value: r.Value, Headers: r.Headers}
		body = of.AppendTo(body[:0]) // after a length of 0, which is one byte
		all = append(binary.AppendVarint(all, int64(len(body)-1)), body[1:]...)
	}
	return Packed{kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: first, MaxTimestamp: last,
		NumRecords: int32(len(records)), LastOffsetDelta: int32(len(records) - 1), Records: all,
	}}
}

const (
	lengthBytes  = 4  // of the length in front of a batch in a request
	attributesAt = 21 // offset of a batch's attributes, with which the checksum begins
)

// framed returns the batch of a producer, after its length.
func (b Packed) framed(p Producer, sequence int32) []byte {
	head := b.head
	head.Length = int32(b.Bytes() - 12)
	head.ProducerID, head.ProducerEpoch, head.FirstSequence = p.ID, p.Epoch, sequence
	if p.Transactional {
		head.Attributes |= 0x10
	}
	framed := binary.BigEndian.AppendUint32(make([]byte, 0, lengthBytes+b.Bytes()), uint32(b.Bytes()))
	framed = head.AppendTo(framed)
	batch := framed[lengthBytes:]
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[attributesAt:], castagnoli))
	return framed
}
