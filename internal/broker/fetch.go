package broker

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

// An answer is the response to a fetch, with the record batches as raw bytes. It replaces
// kafka-go's type, whose decoder is not used: see the package comment.
type answer struct {
	ThrottleTimeMs int32         `kafka:"min=v1,max=v11"`
	ErrorCode      int16         `kafka:"min=v7,max=v11"`
	SessionID      int32         `kafka:"min=v7,max=v11"`
	Topics         []answerTopic `kafka:"min=v0,max=v11"`
}

func (*answer) ApiKey() protocol.ApiKey { return protocol.Fetch } //nolint:revive,staticcheck // the library's name for it

type answerTopic struct {
	Topic      string            `kafka:"min=v0,max=v11"`
	Partitions []answerPartition `kafka:"min=v0,max=v11"`
}

type answerPartition struct {
	Partition            int32                       `kafka:"min=v0,max=v11"`
	ErrorCode            int16                       `kafka:"min=v0,max=v11"`
	HighWatermark        int64                       `kafka:"min=v0,max=v11"`
	LastStableOffset     int64                       `kafka:"min=v4,max=v11"`
	LogStartOffset       int64                       `kafka:"min=v5,max=v11"`
	AbortedTransactions  []fetch.ResponseTransaction `kafka:"min=v4,max=v11"`
	PreferredReadReplica int32                       `kafka:"min=v11,max=v11"`
	Records              batchBytes                  `kafka:"min=v0,max=v11,nullable"`
}

// batchBytes are record batches with their length in front. The library would allocate what the
// length claims; this type allocates as bytes arrive, and reuses memory.
type batchBytes []byte

// batchBuffers has buffers of answers that were read, for reuse.
var batchBuffers sync.Pool

// fetchedBytes is how much is allocated before bytes arrive.
const fetchedBytes = firstFetchBytes + 1<<12

// ReadFrom reads the length and the bytes.
func (b *batchBytes) ReadFrom(r io.Reader) (int64, error) {
	var head [4]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		return int64(n), err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:]))) // −1 is none
	*b = nil
	if size <= 0 {
		return int64(len(head)), nil
	}
	var buf []byte
	if used, ok := batchBuffers.Get().(*[]byte); ok {
		buf = (*used)[:0]
	}
	for len(buf) < size {
		next := min(size, max(cap(buf), 2*len(buf), fetchedBytes))
		at := len(buf)
		buf = slices.Grow(buf, next-at)[:next]
		if n, err := io.ReadFull(r, buf[at:]); err != nil {
			return int64(len(head) + at + n), err
		}
	}
	*b = buf
	return int64(len(head) + size), nil
}

// release returns the memory of the batches to batchBuffers.
func (f fetched) release() {
	if cap(f.batches) > 0 && cap(f.batches) <= 2*fetchedBytes {
		batchBuffers.Put(&f.batches)
	}
}

// It must happen before any client exists.
var _ = func() bool {
	protocol.Register(&fetch.Request{}, &answer{})
	return true
}()

// fetched is what a broker returns for a partition from an offset on.
type fetched struct {
	stable  int64                       // before this offset every transaction has ended; with Undecided, the end of all records
	aborted []fetch.ResponseTransaction // their records are hidden, from the first offset to the producer's next marker
	batches []byte                      // see [NextBatch]; the last one may be incomplete
}

// fetch returns record batches of a range from an offset on. It waits up to a second if there are none.
func (c *Client) fetch(ctx context.Context, r Range, offset int64, limit int32) (fetched, error) {
	isolation := kafka.ReadCommitted
	if r.Undecided {
		isolation = kafka.ReadUncommitted
	}
	response, err := exchange[*answer](ctx, c, &fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(time.Second / time.Millisecond), MinBytes: 1, MaxBytes: math.MaxInt32, // the limit of the partition decides
		IsolationLevel: int8(isolation), SessionID: -1, SessionEpoch: -1,
		Topics: []fetch.RequestTopic{{Topic: r.Topic, Partitions: []fetch.RequestPartition{{
			Partition: int32(r.Partition), CurrentLeaderEpoch: -1, FetchOffset: offset, LogStartOffset: -1, PartitionMaxBytes: limit,
		}}}},
	})
	if err != nil {
		return fetched{}, err
	}
	if response.ErrorCode != 0 {
		return fetched{}, kafka.Error(response.ErrorCode)
	}
	if len(response.Topics) == 0 { // brokers answer so if a quota is used up
		return fetched{}, kafka.ThrottlingQuotaExceeded
	}
	for _, t := range response.Topics {
		for _, p := range t.Partitions {
			if t.Topic != r.Topic || int(p.Partition) != r.Partition {
				continue
			}
			found := fetched{stable: p.LastStableOffset, aborted: p.AbortedTransactions, batches: p.Records}
			if r.Undecided {
				found.stable = p.HighWatermark
			}
			slices.SortFunc(found.aborted, func(a, b fetch.ResponseTransaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
			if p.ErrorCode != 0 {
				return found, kafka.Error(p.ErrorCode)
			}
			return found, nil
		}
	}
	return fetched{}, errors.New("kafka: fetch: the answer does not speak of the partition")
}

// Points in a partition that [Client.Offsets] takes instead of a time.
const (
	Latest   = kafka.LastOffset  // after the last record of an ended transaction
	Earliest = kafka.FirstOffset // the first retained record
)

// Offsets returns the offset, in each partition, of [Earliest], [Latest], or the first record at or
// after a time in milliseconds since 1970. It is −1 if there is none.
func (c *Client) Offsets(ctx context.Context, topic string, partitions []int, at int64) (map[int]int64, error) {
	return c.offsets(ctx, kafka.ReadCommitted, topic, partitions, at)
}

// Bounds returns the offsets of [Earliest] and [Latest].
func (c *Client) Bounds(ctx context.Context, topic string, partitions []int) (earliest, latest map[int]int64, err error) {
	if earliest, err = c.Offsets(ctx, topic, partitions, Earliest); err == nil {
		latest, err = c.Offsets(ctx, topic, partitions, Latest)
	}
	return earliest, latest, err
}

// Written returns the offset after the last record of each partition, committed or not.
func (c *Client) Written(ctx context.Context, topic string, partitions []int) (map[int]int64, error) {
	return c.offsets(ctx, kafka.ReadUncommitted, topic, partitions, Latest)
}

func (c *Client) offsets(ctx context.Context, isolation kafka.IsolationLevel, topic string, partitions []int, at int64) (map[int]int64, error) {
	offsets := make(map[int]int64, len(partitions))
	for _, partition := range partitions {
		err := c.Retry(ctx, ofTopic(topic, func(ctx context.Context) error {
			response, err := exchange[*listoffsets.Response](ctx, c, &listoffsets.Request{
				ReplicaID: -1, IsolationLevel: int8(isolation),
				Topics: []listoffsets.RequestTopic{{Topic: topic, Partitions: []listoffsets.RequestPartition{{
					Partition: int32(partition), CurrentLeaderEpoch: -1, Timestamp: at,
				}}}},
			})
			if err != nil {
				return err
			}
			if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
				return errors.New("list offsets: the answer does not speak of the partition")
			}
			p := response.Topics[0].Partitions[0]
			if p.ErrorCode != 0 {
				return kafka.Error(p.ErrorCode)
			}
			offsets[partition] = p.Offset
			return nil
		}))
		if err != nil {
			return nil, fmt.Errorf("topic %q, partition %d: %w", topic, partition, err)
		}
	}
	return offsets, nil
}
