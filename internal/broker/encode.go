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
	packed := pack(records)
	packed.number(p, sequence)
	return packed.framed[lengthBytes:]
}

// A Packed is a batch of records that lacks only the numbers of its producer.
type Packed struct {
	framed  []byte // the length of the batch, then the batch
	records int
}

// Bytes returns the size of the batch, as max.message.bytes counts it.
func (b Packed) Bytes() int { return len(b.framed) - lengthBytes }

// lengthBytes is the size of the length in front of a batch in a request.
const lengthBytes = 4

// Pack makes a compressed batch of at least one record. Compression costs less than it saves in
// sending, checking and storing.
func Pack(records []Record) (Packed, error) {
	plain := pack(records)
	var out bytes.Buffer
	out.Grow(len(plain.framed) / 2)
	out.Write(plain.framed[:lengthBytes+headerBytes])
	w := compress.Lz4.Codec().NewWriter(&out)
	_, err := w.Write(plain.framed[lengthBytes+headerBytes:])
	if err := errors.Join(err, w.Close()); err != nil {
		return Packed{}, fmt.Errorf("kafka: compress a batch: %w", err)
	}
	if out.Len() >= len(plain.framed) {
		return plain, nil
	}
	packed := Packed{out.Bytes(), plain.records}
	packed.framed[lengthBytes+attributesAt+1] = byte(compress.Lz4)
	packed.measure()
	return packed, nil
}

// attributesAt is the offset of a batch's attributes, whose lowest bits are the codec.
const attributesAt = 21

// measure writes the length of the batch into it.
func (b Packed) measure() {
	be := binary.BigEndian
	out := b.framed[lengthBytes:]
	be.PutUint32(b.framed, uint32(len(out)))
	be.PutUint32(out[8:], uint32(len(out)-12))
}

// pack makes an uncompressed batch.
func pack(records []Record) Packed {
	size := lengthBytes + headerBytes
	for i := range records {
		size += len(records[i].Key) + len(records[i].Value) + 20 // an estimate of the other fields
	}
	first, last := records[0].Time, records[0].Time
	for i := range records {
		last = max(last, records[i].Time)
	}
	head := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: first, MaxTimestamp: last,
		NumRecords: int32(len(records)), LastOffsetDelta: int32(len(records) - 1),
	}
	framed := head.AppendTo(make([]byte, lengthBytes, size))
	var body []byte
	for i := range records {
		r := &records[i]
		of := kmsg.Record{TimestampDelta64: r.Time - first, OffsetDelta: int32(i), Key: r.Key, Value: r.Value, Headers: r.Headers}
		body = of.AppendTo(body[:0]) // after a length of 0, which is one byte
		framed = append(binary.AppendVarint(framed, int64(len(body)-1)), body[1:]...)
	}
	packed := Packed{framed, len(records)}
	packed.measure()
	return packed
}

// number writes the numbers of the producer, and then the checksum, into a batch.
func (b Packed) number(p Producer, sequence int32) {
	be := binary.BigEndian
	out := b.framed[lengthBytes:]
	if p.Transactional {
		out[attributesAt+1] |= 0x10
	}
	be.PutUint64(out[43:], uint64(p.ID))
	be.PutUint16(out[51:], uint16(p.Epoch))
	be.PutUint32(out[53:], uint32(sequence))
	be.PutUint32(out[17:], crc32.Checksum(out[attributesAt:], castagnoli))
}
