package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// A Writer stores each record once: batches have the producer's id and sequence, all in-sync
// replicas acknowledge them, and an unacknowledged batch is sent again unchanged. With a
// transactional id, everything sent until Commit becomes readable together or not at all, and a
// later Writer of the id ends the transaction of an earlier one. It is for one goroutine.
type Writer struct {
	client        *Client
	transactional string
	producer      Producer
	sequences     map[topicPartition]int32
	joined        map[topicPartition]bool  // partitions of the transaction
	open          bool                     // a request that begins a transaction was sent, whatever its result
	ends          map[topicPartition]int64 // offsets after the last record sent in transactions, until Seen has seen them
	groups        []progress               // offsets that transactions have committed, until Seen has seen them
}

// A topicPartition names a partition of a topic.
type topicPartition struct {
	topic     string
	partition int
}

// progress is the offsets that a transaction commits for a group in a topic.
type progress struct {
	group, topic string
	ends         map[int]int64
}

// timeouts are after how long the cluster ends the transaction of a dead writer. Some clusters do
// not allow the usual 15 minutes: then the next one is tried.
var timeouts = []time.Duration{15 * time.Minute, 5 * time.Minute, time.Minute, 10 * time.Second}

// NewWriter returns a writer with its own producer id. Without transactions transactional is "".
func (c *Client) NewWriter(ctx context.Context, transactional string) (*Writer, error) {
	w := &Writer{client: c, transactional: transactional, sequences: map[topicPartition]int32{}, joined: map[topicPartition]bool{}, ends: map[topicPartition]int64{}}
	var err error
	for _, timeout := range timeouts {
		if err = w.begin(ctx, timeout); !errors.Is(err, kafka.InvalidTransactionTimeout) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("kafka: id of a producer: %w", err)
	}
	return w, nil
}

// begin gets a producer id from the cluster.
func (w *Writer) begin(ctx context.Context, timeout time.Duration) error {
	return w.client.Retry(ctx, ask(w.client.kafka.InitProducerID, kafka.InitProducerIDRequest{
		// The zero values of id and epoch would mean an earlier producer.
		TransactionalID: w.transactional, TransactionTimeoutMs: int(timeout / time.Millisecond), ProducerID: -1, ProducerEpoch: -1,
	}, func(answer *kafka.InitProducerIDResponse) error {
		if answer.Error != nil {
			return answer.Error
		}
		if answer.Producer.ProducerID < 0 {
			return kafka.GroupCoordinatorNotAvailable // young brokers answer so while they create their topics
		}
		w.producer = Producer{ID: int64(answer.Producer.ProducerID), Epoch: int16(answer.Producer.ProducerEpoch), Transactional: w.transactional != ""}
		return nil
	}))
}

// retry makes a request of the writer. If another process has fenced the writer, the error says so.
func (w *Writer) retry(ctx context.Context, request func(context.Context) error) error {
	err := w.client.Retry(ctx, request)
	if Fenced(err) {
		return fmt.Errorf("another process has begun to write under the transactional id %q, which ends this one: %w", w.transactional, err)
	}
	return err
}

// Send stores records in a partition as one batch.
func (w *Writer) Send(ctx context.Context, topic string, partition int, records ...Record) error {
	return w.SendPacked(ctx, topic, partition, pack(records))
}

// SendPacked stores a batch in a partition. A batch must not be used again.
func (w *Writer) SendPacked(ctx context.Context, topic string, partition int, batch Packed) error {
	at := topicPartition{topic, partition}
	if err := w.join(ctx, at); err != nil {
		return err
	}
	framed := batch.framed(w.producer, w.sequences[at])
	err := w.retry(ctx, ofTopic(topic, func(ctx context.Context) error {
		answer, err := w.client.kafka.RawProduce(ctx, &kafka.RawProduceRequest{
			Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll, TransactionalID: w.transactional,
			// The library sends raw records as they are, so their length must be in front.
			RawRecords: protocol.RawRecordSet{Reader: bytes.NewReader(framed)},
		})
		if err != nil {
			return err
		}
		if errors.Is(answer.Error, kafka.DuplicateSequenceNumber) {
			return nil // it was stored, but the acknowledgement was lost
		}
		if answer.Error == nil && w.transactional != "" {
			w.ends[at] = answer.BaseOffset + int64(batch.head.NumRecords)
		}
		for _, i := range slices.Sorted(maps.Keys(answer.RecordErrors)) {
			return fmt.Errorf("record %d: %w", i, errors.Join(answer.RecordErrors[i], answer.Error))
		}
		return answer.Error
	}))
	if err != nil {
		return fmt.Errorf("topic %q, partition %d: produce: %w", topic, partition, err)
	}
	w.sequences[at] = following(w.sequences[at], int(batch.head.NumRecords))
	return nil
}

// following returns the sequence after so many more records. After the largest one comes 0.
func following(sequence int32, records int) int32 {
	return int32((int64(sequence) + int64(records)) & math.MaxInt32)
}

// join adds a partition to the transaction, if there is one.
func (w *Writer) join(ctx context.Context, at topicPartition) error {
	if w.transactional == "" || w.joined[at] {
		return nil
	}
	w.open = true
	err := w.retry(ctx, ofTopic(at.topic, ask(w.client.kafka.AddPartitionsToTxn, kafka.AddPartitionsToTxnRequest{
		TransactionalID: w.transactional, ProducerID: int(w.producer.ID), ProducerEpoch: int(w.producer.Epoch),
		Topics: map[string][]kafka.AddPartitionToTxn{at.topic: {{Partition: at.partition}}},
	}, func(answer *kafka.AddPartitionsToTxnResponse) error {
		return each([]int{at.partition}, answer.Topics[at.topic], func(p kafka.AddPartitionToTxnPartition) (int, error) { return p.Partition, p.Error })
	})))
	if err != nil {
		return fmt.Errorf("topic %q, partition %d: join the transaction: %w", at.topic, at.partition, err)
	}
	w.joined[at] = true
	return nil
}

// Commit commits the transaction and waits until readers see it.
func (w *Writer) Commit(ctx context.Context) error {
	if err := w.End(ctx); err != nil {
		return err
	}
	return w.Seen(ctx)
}

// End commits the open transaction, if there is one. Readers may see it only later: see Seen.
func (w *Writer) End(ctx context.Context) error { return w.end(ctx, true) }

// Seen waits, for up to 20 seconds, until readers of committed records see what was sent, and
// groups have their new offsets: a broker answers before it has written the end of a transaction
// into all partitions, and the open transaction of another writer may hide records.
func (w *Writer) Seen(ctx context.Context) error {
	const most, pause = 20 * time.Second, 20 * time.Millisecond
	until := time.Now().Add(most)
	await := func(there func() (bool, error)) error {
		for {
			ok, err := there()
			if ok || err != nil || time.Now().After(until) {
				return err
			}
			if err := Pause(ctx, pause); err != nil {
				return err
			}
		}
	}
	for at, end := range w.ends {
		err := await(func() (bool, error) {
			now, err := w.client.Offsets(ctx, at.topic, []int{at.partition}, Latest)
			return now[at.partition] >= end, err
		})
		if err != nil {
			return err
		}
	}
	for _, g := range w.groups {
		err := await(func() (bool, error) {
			now, err := w.client.CommittedOffsets(ctx, g.group, g.topic, slices.Sorted(maps.Keys(g.ends)))
			return maps.Equal(now, g.ends), err
		})
		if err != nil {
			return err
		}
	}
	clear(w.ends)
	w.groups = nil
	return nil
}

// Abort ends the transaction. What was sent in it is never read.
func (w *Writer) Abort(ctx context.Context) error {
	clear(w.ends) // readers never see them
	w.groups = nil
	err := w.end(ctx, false)
	if errors.Is(err, kafka.InvalidTransactionState) {
		return nil // none is open: the request to begin it was refused
	}
	return err
}

func (w *Writer) end(ctx context.Context, commit bool) error {
	if !w.open {
		return nil
	}
	err := w.retry(ctx, ask(w.client.kafka.EndTxn, kafka.EndTxnRequest{
		TransactionalID: w.transactional, ProducerID: int(w.producer.ID), ProducerEpoch: int(w.producer.Epoch), Committed: commit,
	}, func(answer *kafka.EndTxnResponse) error { return answer.Error }))
	if err != nil {
		return fmt.Errorf("kafka: end the transaction %q: %w", w.transactional, err)
	}
	clear(w.joined)
	w.open = false
	return nil
}
