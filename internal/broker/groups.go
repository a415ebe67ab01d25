package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/describegroups"
)

// CommitOffsets commits the offsets of a group in a topic, in the transaction if there is one. If
// the member's generation is over, it returns an error that [Stale] detects. If as is nil, the
// group must have no members, since these commit its offsets themselves.
func (w *Writer) CommitOffsets(ctx context.Context, as *Member, group, topic string, ends map[int]int64, metadata string) (err error) {
	if as == nil {
		as, err = &Member{Generation: -1}, w.client.unmanned(ctx, group)
	}
	if err == nil {
		err = w.commitOffsets(ctx, *as, group, topic, ends, metadata)
	}
	if err != nil {
		return fmt.Errorf("kafka: commit the offsets of group %q: %w", group, err)
	}
	return nil
}

func (w *Writer) commitOffsets(ctx context.Context, as Member, group, topic string, ends map[int]int64, metadata string) error {
	partitions := slices.Sorted(maps.Keys(ends))
	if w.transactional == "" {
		var offsets []kafka.OffsetCommit
		for _, p := range partitions {
			offsets = append(offsets, kafka.OffsetCommit{Partition: p, Offset: ends[p], Metadata: metadata})
		}
		return w.retry(ctx, ask(w.client.kafka.OffsetCommit, kafka.OffsetCommitRequest{
			GroupID: group, GenerationID: as.Generation, MemberID: as.ID, Topics: map[string][]kafka.OffsetCommit{topic: offsets},
		}, func(answer *kafka.OffsetCommitResponse) error {
			return each(partitions, answer.Topics[topic], func(p kafka.OffsetCommitPartition) (int, error) { return p.Partition, p.Error })
		}))
	}
	w.open = true
	err := w.retry(ctx, ask(w.client.kafka.AddOffsetsToTxn, kafka.AddOffsetsToTxnRequest{
		TransactionalID: w.transactional, ProducerID: int(w.producer.ID), ProducerEpoch: int(w.producer.Epoch), GroupID: group,
	}, func(answer *kafka.AddOffsetsToTxnResponse) error { return answer.Error }))
	if err != nil {
		return err
	}
	w.groups = slices.DeleteFunc(w.groups, func(p progress) bool { return p.group == group && p.topic == topic })
	w.groups = append(w.groups, progress{group, topic, maps.Clone(ends)})
	var offsets []kafka.TxnOffsetCommit
	for _, p := range partitions {
		offsets = append(offsets, kafka.TxnOffsetCommit{Partition: p, Offset: ends[p], Metadata: metadata})
	}
	return w.retry(ctx, ask(w.client.kafka.TxnOffsetCommit, kafka.TxnOffsetCommitRequest{
		TransactionalID: w.transactional, ProducerID: int(w.producer.ID), ProducerEpoch: int(w.producer.Epoch), GroupID: group,
		GenerationID: as.Generation, MemberID: as.ID, Topics: map[string][]kafka.TxnOffsetCommit{topic: offsets},
	}, func(answer *kafka.TxnOffsetCommitResponse) error {
		return each(partitions, answer.Topics[topic], func(p kafka.TxnOffsetCommitPartition) (int, error) { return p.Partition, p.Error })
	}))
}

// each returns an error unless an answer has all partitions, without errors.
func each[T any](partitions []int, answers []T, result func(T) (partition int, err error)) error {
	for _, a := range answers {
		p, err := result(a)
		if err != nil {
			return err
		}
		partitions = slices.DeleteFunc(slices.Clone(partitions), func(q int) bool { return q == p })
	}
	if len(partitions) > 0 {
		return errors.New("the answer does not speak of all partitions")
	}
	return nil
}

// unmanned returns an error if a group has members. Clusters check that too, but not in a
// transaction, which could overwrite offsets that members have committed.
func (c *Client) unmanned(ctx context.Context, group string) error {
	return c.Retry(ctx, func(ctx context.Context) error {
		// The library's method fails if it cannot read the members' user data.
		response, err := exchange[*describegroups.Response](ctx, c, &describegroups.Request{Groups: []string{group}})
		if err != nil {
			return err
		}
		if len(response.Groups) != 1 {
			return errors.New("describe groups: the answer does not speak of the group")
		}
		switch g := response.Groups[0]; {
		case kafka.Error(g.ErrorCode) == kafka.GroupIdNotFound:
			return nil
		case g.ErrorCode != 0:
			return kafka.Error(g.ErrorCode)
		case len(g.Members) > 0:
			return fmt.Errorf("it has %d members, which commit offsets themselves: name a group that nothing else uses", len(g.Members))
		}
		return nil
	})
}

// CommittedOffsets returns the offset of a group in each partition, −1 if there is none.
func (c *Client) CommittedOffsets(ctx context.Context, group, topic string, partitions []int) (map[int]int64, error) {
	offsets, _, err := c.Committed(ctx, group, topic, partitions)
	return offsets, err
}

// Committed returns the committed offsets and the texts that were committed with them.
func (c *Client) Committed(ctx context.Context, group, topic string, partitions []int) (map[int]int64, map[int]string, error) {
	found, texts := map[int]int64{}, map[int]string{}
	request := kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: partitions}}
	err := c.Retry(ctx, ask(c.kafka.OffsetFetch, request, func(answer *kafka.OffsetFetchResponse) error {
		if errors.Is(answer.Error, kafka.GroupIdNotFound) {
			for _, p := range partitions {
				found[p] = -1
			}
			return nil
		}
		if answer.Error != nil {
			return answer.Error
		}
		return each(partitions, answer.Topics[topic], func(p kafka.OffsetFetchPartition) (int, error) {
			found[p.Partition], texts[p.Partition] = p.CommittedOffset, p.Metadata
			return p.Partition, p.Error
		})
	}))
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: offsets of group %q: %w", group, err)
	}
	return found, texts, nil
}

// Lags returns, for each partition, how many offsets are between the group's position, or the
// earliest offset if that is later, and the end.
func (c *Client) Lags(ctx context.Context, group, topic string, partitions []int) (map[int]int64, error) {
	at, err := c.CommittedOffsets(ctx, group, topic, partitions)
	if err != nil {
		return nil, err
	}
	earliest, latest, err := c.Bounds(ctx, topic, partitions)
	if err != nil {
		return nil, err
	}
	lags := map[int]int64{}
	for _, p := range partitions {
		lags[p] = max(0, latest[p]-max(at[p], earliest[p]))
	}
	return lags, nil
}
