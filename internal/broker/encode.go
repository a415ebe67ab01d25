package broker

import (
	"encoding/binary"
	"hash/crc32"
)

// A Producer numbers the batches that a broker is to store once each: sent again, one
// with the number of an earlier one is acknowledged and not stored.
type Producer struct {
	ID    int64
	Epoch int16
	// Transactional batches are read when their transaction has been committed.
	Transactional bool
}

// EncodeBatch returns a record batch of version 2, uncompressed. Sequence is the number
// of its first record among all that the producer sends to the partition.
func EncodeBatch(p Producer, sequence int32, records []Record) []byte {
	out := append([]byte(nil), make([]byte, headerBytes)...)
	var body []byte
	first, last := records[0].Time, records[0].Time
	for i, r := range records {
		last = max(last, r.Time)
		body = binary.AppendVarint(append(body[:0], 0), r.Time-first)
		body = binary.AppendVarint(body, int64(i))
		body = appendBytes(body, r.Key)
		body = appendBytes(body, r.Value)
		body = binary.AppendVarint(body, int64(len(r.Headers)))
		for _, h := range r.Headers {
			body = appendBytes(body, []byte(h.Key))
			body = appendBytes(body, h.Value)
		}
		out = binary.AppendVarint(out, int64(len(body)))
		out = append(out, body...)
	}
	be := binary.BigEndian
	be.PutUint32(out[8:], uint32(len(out)-12))
	be.PutUint32(out[12:], 0xFFFFFFFF) // epoch of the leader: unknown
	out[16] = 2                        // version
	attributes := uint16(0)
	if p.Transactional {
		attributes |= 0x10
	}
	be.PutUint16(out[21:], attributes)
	be.PutUint32(out[23:], uint32(len(records)-1))
	be.PutUint64(out[27:], uint64(first))
	be.PutUint64(out[35:], uint64(last))
	be.PutUint64(out[43:], uint64(p.ID))
	be.PutUint16(out[51:], uint16(p.Epoch))
	be.PutUint32(out[53:], uint32(sequence))
	be.PutUint32(out[57:], uint32(len(records)))
	be.PutUint32(out[17:], crc32.Checksum(out[21:], castagnoli))
	return out
}

// appendBytes appends a length and the bytes; nil has the length −1.
func appendBytes(to, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(to, -1)
	}
	return append(binary.AppendVarint(to, int64(len(b))), b...)
}
