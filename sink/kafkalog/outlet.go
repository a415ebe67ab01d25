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
	limit      int // largest batch that the topic accepts, in bytes
}

// usualLimit is the default max.message.bytes of a topic.
const usualLimit = 1048588

// openOutlet reads the partitions and the limit of a topic. If that is unknown, it is usualLimit.
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

// at returns the partition with this number modulo the number of partitions.
func (o outlet) at(partition int) int { return o.partitions[partition%len(o.partitions)] }

// refusal returns the reason why the topic does not accept a record of this size in bytes.
func (o outlet) refusal(bytes int) string {
	return fmt.Sprintf("it has %d bytes, more than the topic %s takes (max.message.bytes is %d)", bytes, o.name, o.limit)
}

// packed packs records into batches of up to limit bytes before compression; a larger record gets its own batch. If the
// topic does not accept a record even compressed, it packs shorter(i) instead.
func (o outlet) packed(records []broker.Record, limit int, shorter func(i int) broker.Record) (pieces []broker.Packed, err error) {
	now := time.Now().UnixMilli() // retention counts from this time
	limit = min(limit, o.limit-batchBytes)
	from, bytes := 0, 0
	for i := range records {
		records[i].Time = now
		bytes += room(records[i])
		if i+1 < len(records) && bytes+room(records[i+1]) <= limit {
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

// room returns the most bytes that a record needs in a batch.
func room(r broker.Record) int {
	bytes := len(r.Key) + len(r.Value) + recordBytes
	for _, h := range r.Headers {
		bytes += len(h.Key) + len(h.Value) + headerBytes
	}
	return bytes
}

// Upper bounds for the bytes of a record, header or batch other than keys and values.
const (
	recordBytes = 64
	headerBytes = 10
	batchBytes  = 100
)

// positionHeaders is how many headers a dead letter has after those of its record.
const positionHeaders = 5

// withoutRecord returns a dead letter that is too large without its record. It keeps the headers
// with topic, partition, offset and time, and the reason says what is missing.
func (o outlet) withoutRecord(letter broker.Record) broker.Record {
	headers := append([]broker.Header{}, letter.Headers[max(0, len(letter.Headers)-positionHeaders):]...)
	if n := len(headers); n > 0 {
		headers[n-1].Value = fmt.Appendf(nil, "%s; the record is not here: %s", headers[n-1].Value, o.refusal(room(letter)))
	}
	return broker.Record{Value: []byte{}, Headers: headers}
}
