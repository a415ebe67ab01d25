package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// DeadLetters sends to a topic the records that are not valid rows or have no prediction. The same transaction commits
// their end offsets for a group of its own, which marks them as sent. So read-committed consumers see each dead letter
// once, however often the job is killed and run again, until the cluster forgets the offsets of groups without members
// (offsets.retention.minutes, a week by default). All but Pack is for one goroutine.
type DeadLetters struct {
	cfg    DeadLettersConfig
	to     outlet
	writer *broker.Writer
	sent   map[int]int64 // by partition: earlier processes have sent all dead letters before this offset
	open   bool          // dead letters were sent and not committed
}

// DeadLettersConfig sets up [DeadLetters].
type DeadLettersConfig struct {
	Client *broker.Client
	Topic  string // of dead letters
	ID     string // names the rows; no two jobs have the same
	Source string // topic of the rows
}

// group names the transactional id, and the group whose offsets say which dead letters were sent.
func (c DeadLettersConfig) group() string { return "pacsgp-dead-letters-" + c.ID }

// deadLettersBytes bounds the size of a batch of dead letters, in bytes.
const deadLettersBytes = 256 << 10

// OpenDeadLetters returns a writer, after it has aborted an open transaction of an earlier process.
func OpenDeadLetters(ctx context.Context, cfg DeadLettersConfig) (*DeadLetters, error) {
	l := &DeadLetters{cfg: cfg}
	var err error
	if l.to, err = openOutlet(ctx, cfg.Client, cfg.Topic); err != nil {
		return nil, err
	}
	rows, err := cfg.Client.Partitions(ctx, cfg.Source)
	if err != nil {
		return nil, err
	}
	if l.writer, err = cfg.Client.NewWriter(ctx, cfg.group()); err != nil {
		return nil, err
	}
	l.sent, err = cfg.Client.CommittedOffsets(ctx, cfg.group(), cfg.Source, rows)
	return l, err
}

// PutDeadLetters sends the dead letters of a window in one transaction. each yields them with their partition among the
// rows; ends are the end offsets of the window. The records are retained until they are sent.
func PutDeadLetters(ctx context.Context, cfg DeadLettersConfig, ends map[int]int64, each func(func(partition int, r broker.Record) error) error) (err error) {
	var l *DeadLetters // nil before the first dead letter
	defer func() {
		if err != nil && l != nil {
			err = errors.Join(err, l.Abort(ctx))
		}
	}()
	var waiting []broker.Record
	partition, bytes := 0, 0
	flush := func() error {
		if len(waiting) == 0 {
			return nil
		}
		packed, err := l.to.parcel(partition, waiting)
		if err == nil {
			err = l.send(ctx, packed)
		}
		waiting, bytes = waiting[:0], 0
		return err
	}
	err = each(func(from int, r broker.Record) (err error) {
		if l == nil {
			if l, err = OpenDeadLetters(ctx, cfg); err != nil {
				return err
			}
		}
		if r.Offset < l.sent[from] {
			return nil
		}
		size := room(r)
		if from != partition || bytes+size > deadLettersBytes {
			err = flush()
		}
		partition, bytes = from, bytes+size
		waiting = append(waiting, r)
		return err
	})
	if err == nil {
		err = flush()
	}
	if err != nil || l == nil {
		return err
	}
	return l.Commit(ctx, ends)
}

func (l *DeadLetters) send(ctx context.Context, packed ...parcel) error {
	l.open = l.open || len(packed) > 0
	if err := send(ctx, l.writer, packed...); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	return nil
}

// Pack packs the dead letters of a batch of predictions and returns a function that sends them.
func (l *DeadLetters) Pack(batch []pipeline.Prediction, records score.Records) (func(context.Context) error, error) {
	packed, err := l.to.deadLetters(batch, records, l.sent)
	return func(ctx context.Context) error { return l.send(ctx, packed...) }, err
}

// Commit makes sent dead letters permanent. ends are, by partition, the offsets after their rows.
func (l *DeadLetters) Commit(ctx context.Context, ends map[int]int64) error {
	if !l.open {
		return nil
	}
	ends = maps.Clone(ends)
	for p, end := range ends { // a killed process may already have sent more
		ends[p] = max(end, l.sent[p])
	}
	if err := l.writer.CommitOffsets(ctx, nil, l.cfg.group(), l.cfg.Source, ends, "dead letters"); err != nil {
		return err
	}
	l.open = false
	return l.writer.Commit(ctx)
}

// Abort drops the dead letters that were sent since the last commit, even if ctx is done.
func (l *DeadLetters) Abort(ctx context.Context) error { return unlessFenced(abort(ctx, l.writer)) }

// deadLetters packs the records of rows without a prediction, by partition. It leaves out those
// before the offsets in sent.
func (o outlet) deadLetters(batch []pipeline.Prediction, from score.Records, sent map[int]int64) (all []parcel, err error) {
	records := map[int][]broker.Record{}
	for i := range batch {
		partition, offset, _ := from.Position(i)
		if batch[i].Reason == "" || offset < sent[partition] {
			continue
		}
		var r broker.Record
		r.Key, r.Value = from.Letter(i, batch[i].Reason, func(name string, value []byte) {
			r.Headers = append(r.Headers, broker.Header{Key: name, Value: value})
		})
		records[partition] = append(records[partition], r)
	}
	for _, partition := range slices.Sorted(maps.Keys(records)) {
		packed, err := o.parcel(partition, records[partition])
		if err != nil {
			return nil, err
		}
		all = append(all, packed)
	}
	return all, nil
}

// parcel packs dead letters of one partition of the rows.
func (o outlet) parcel(partition int, records []broker.Record) (parcel, error) {
	pieces, err := o.packed(records, deadLettersBytes, func(i int) broker.Record { return o.withoutRecord(records[i]) })
	return parcel{o.name, o.at(partition), pieces}, err
}
