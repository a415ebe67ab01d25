package kafkalog

import (
	"context"
	"maps"
	"slices"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// deadLetters packs the records of rows without a prediction, by partition. Those before the offsets sent
// are left out.
func (o outlet) deadLetters(batch []pipeline.Prediction, of score.Records, sent map[int]int64) (parcels []parcel, err error) {
	records := map[int][]broker.Record{}
	for i := range batch {
		partition, offset, _ := of.Position(i)
		if batch[i].Reason == "" || offset < sent[partition] {
			continue
		}
		letter := of.Letter(i, batch[i].Reason)
		r := broker.Record{Key: letter.Key, Value: letter.Value}
		for _, h := range letter.Headers {
			r.Headers = append(r.Headers, broker.Header(h))
		}
		records[partition] = append(records[partition], r)
	}
	for _, partition := range slices.Sorted(maps.Keys(records)) {
		pieces, err := o.packed(records[partition], deadLettersBytes, func(i int) broker.Record { return o.withoutRecord(records[partition][i]) })
		if err != nil {
			return nil, err
		}
		parcels = append(parcels, parcel{o.name, o.at(partition), pieces})
	}
	return parcels, nil
}

// RowDeadLetters sends the records of rows without a prediction to a topic, next to predictions that go
// elsewhere. The transaction of dead letters also commits the offsets behind them for a group of its own,
// so that readers of committed records see each letter once. It is for one goroutine at a time,
// except for Pack.
type RowDeadLetters struct {
	cfg    RowDeadLettersConfig
	to     outlet
	writer *broker.Writer
	sent   map[int]int64 // offsets before which earlier processes have sent all dead letters, by partition
	open   bool          // dead letters were sent since the last commit
}

// RowDeadLettersConfig sets up [RowDeadLetters].
type RowDeadLettersConfig struct {
	Client *broker.Client
	Topic  string // of dead letters
	Group  string // that reads the rows
	Source string // topic of the rows
}

// group is the group whose offsets say which dead letters were sent.
func (c RowDeadLettersConfig) group() string { return "pacsgp-dead-letters-score-" + c.Group }

// OpenRowDeadLetters aborts the open transaction of an earlier process.
func OpenRowDeadLetters(ctx context.Context, cfg RowDeadLettersConfig) (*RowDeadLetters, error) {
	l := &RowDeadLetters{cfg: cfg}
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

// Pack packs the dead letters of predicted rows, and returns a function that sends them.
func (l *RowDeadLetters) Pack(batch []pipeline.Prediction, of score.Records) (func(context.Context) error, error) {
	parcels, err := l.to.deadLetters(batch, of, l.sent)
	return func(ctx context.Context) error {
		l.open = l.open || len(parcels) > 0
		return send(ctx, l.writer, parcels...)
	}, err
}

// Commit makes sent dead letters permanent. ends are the offsets behind their rows, by partition.
func (l *RowDeadLetters) Commit(ctx context.Context, ends map[int]int64) error {
	if !l.open {
		return nil
	}
	ends = maps.Clone(ends)
	for p, end := range ends { // dead letters beyond may have been sent by a process that was killed
		ends[p] = max(end, l.sent[p])
	}
	if err := l.writer.CommitOffsets(ctx, l.cfg.group(), l.cfg.Source, ends, "dead letters"); err != nil {
		return err
	}
	l.open = false
	return l.writer.Commit(ctx)
}

// Abort drops the dead letters that were sent since the last commit, also when ctx is done.
func (l *RowDeadLetters) Abort(ctx context.Context) error { return unlessFenced(abort(ctx, l.writer)) }
