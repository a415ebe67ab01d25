package kafkalog

import (
	"context"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// An outlet is a topic that records are sent to.
type outlet struct {
	name       string
	partitions []int
	limit      int // bytes of a batch that it takes
}

// usualLimit is the default max.message.bytes of a topic.
const usualLimit = 1048588

// openOutlet asks for the partitions of a topic and its limit. Where brokers do not tell its limit, it is the usual one.
func openOutlet(ctx context.Context, client *broker.Client, topic string) (outlet, error) {
	partitions, err := client.Partitions(ctx, topic)
	if err != nil {
		return outlet{}, err
	}
	has, err := client.TopicSettings(ctx, topic)
	if err != nil && (ctx.Err() != nil || broker.Temporary(err)) {
		return outlet{}, err
	}
	return outlet{topic, partitions, largest(has, usualLimit)}, nil
}

// at is the partition of the same number, modulo the number of partitions.
func (o outlet) at(partition int) int { return o.partitions[partition%len(o.partitions)] }

// refusal is the reason of a record of so many bytes that the topic does not take.
func (o outlet) refusal(bytes int) string {
	return fmt.Sprintf("it has %d bytes, more than the topic %s takes (max.message.bytes is %d)", bytes, o.name, o.limit)
}

// packed packs records into batches of at most so many uncompressed bytes; a larger record gets a batch of
// its own. Of one that the topic does not take, even compressed, it packs what shorter returns.
func (o outlet) packed(records []broker.Record, most int, shorter func(i int) broker.Record) (pieces []broker.Packed, err error) {
	now := time.Now().UnixMilli() // retention counts from now
	most = min(most, o.limit-batchBytes)
	from, bytes := 0, 0
	for i := range records {
		records[i].Time = now
		bytes += room(records[i])
		if i+1 < len(records) && bytes+room(records[i+1]) <= most {
			continue
		}
		piece, err := broker.Pack(records[from : i+1])
		if err == nil && piece.Bytes() > o.limit {
			less := shorter(i)
			less.Time = now
			piece, err = broker.Pack([]broker.Record{less})
		}
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece)
		from, bytes = i+1, 0
	}
	return pieces, nil
}

// room bounds the bytes of a record in a batch.
func room(r broker.Record) int {
	bytes := len(r.Key) + len(r.Value) + recordBytes
	for _, h := range r.Headers {
		bytes += len(h.Key) + len(h.Value) + headerBytes
	}
	return bytes
}

// Bounds on what else there is, next to the bytes of keys and values.
const (
	recordBytes = 64
	headerBytes = 10
	batchBytes  = 100
)

// positionHeaders is how many headers of a dead letter say what it is about, behind the record's own.
const positionHeaders = 5

// withoutRecord is a dead letter without the record, which is too large: its topic, partition, offset and time
// are there, and the reason says so.
func (o outlet) withoutRecord(letter broker.Record) broker.Record {
	headers := append([]broker.Header{}, letter.Headers[max(0, len(letter.Headers)-positionHeaders):]...)
	if n := len(headers); n > 0 {
		headers[n-1].Value = fmt.Appendf(nil, "%s; the record is not here: %s", headers[n-1].Value, o.refusal(room(letter)))
	}
	return broker.Record{Value: []byte{}, Headers: headers}
}
