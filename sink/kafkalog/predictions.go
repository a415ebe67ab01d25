package kafkalog

import (
	"context"
	"errors"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// Predictions sends predictions of the rows of one topic to another. It is for one
// goroutine, but for Pack.
type Predictions struct {
	cfg        PredictionsConfig
	writer     *broker.Writer
	partitions []int
}

// PredictionsConfig says whence predictions come and where they go.
type PredictionsConfig struct {
	Client *broker.Client
	Group  string // that reads the rows
	Source string // topic of the rows
	Topic  string // of predictions
	// ExactlyOnce puts predictions and the offsets of their rows into one transaction, under
	// an id that belongs to the group: of two processes the later one ends the other.
	ExactlyOnce bool
}

// NewPredictions ends what an earlier process of the group has left open, if each
// prediction is to be there once.
func NewPredictions(ctx context.Context, cfg PredictionsConfig) (*Predictions, error) {
	p := &Predictions{cfg: cfg}
	transactional := ""
	if cfg.ExactlyOnce {
		transactional = "pacsgp/score/" + cfg.Group
	}
	var err error
	if p.partitions, err = cfg.Client.Partitions(ctx, cfg.Topic); err != nil {
		return nil, err
	}
	p.writer, err = cfg.Client.NewWriter(ctx, transactional)
	return p, err
}

// A Parcel is predictions of rows of one partition, ready to be sent.
type Parcel struct {
	partition int // where they go
	pieces    []broker.Packed
}

// Pack packs the predictions of rows of one partition, in their order, for the partition
// of the same number, as far as there are so many. Records of one key are so in one
// partition if their rows were. Several goroutines may call it.
func (p *Predictions) Pack(partition int, records []broker.Record) (Parcel, error) {
	pieces, err := packed(records, pieceBytes)
	return Parcel{p.partitions[partition%len(p.partitions)], pieces}, err
}

// packed packs records, in batches of at most so many bytes before they are compressed, but
// for a record that alone has more.
func packed(records []broker.Record, most int) (pieces []broker.Packed, err error) {
	now := time.Now().UnixMilli() // retention counts from now
	from, bytes := 0, 0
	for i := range records {
		records[i].Time = now
		bytes += room(records[i])
		if i+1 < len(records) && bytes+room(records[i+1]) <= most {
			continue
		}
		piece, err := broker.Pack(records[from : i+1])
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece)
		from, bytes = i+1, 0
	}
	return pieces, nil
}

// room is what a record takes in a batch, and more.
func room(r broker.Record) int { return len(r.Key) + len(r.Value) + recordBytes }

// Send sends a parcel.
func (p *Predictions) Send(ctx context.Context, parcel Parcel) error {
	for _, piece := range parcel.pieces {
		if err := p.writer.SendPacked(ctx, p.cfg.Topic, parcel.partition, piece); err != nil {
			return err
		}
	}
	return nil
}

// recordBytes is more than a record has beside key and value.
const recordBytes = 64

// Commit notes how far the rows were predicted, as a member of the group, with a text that
// stands beside the offsets. With ExactlyOnce, what was sent is read soon.
func (p *Predictions) Commit(ctx context.Context, as broker.Member, ends map[int]int64, text string) error {
	if err := p.writer.CommitOffsetsAs(ctx, as, p.cfg.Group, p.cfg.Source, ends, text); err != nil {
		return err
	}
	return p.writer.End(ctx)
}

// Seen waits until what was committed is read.
func (p *Predictions) Seen(ctx context.Context) error { return p.writer.Seen(ctx) }

// Abort gives up what was sent since the last commit, also when ctx is done; without
// ExactlyOnce it is read all the same.
func (p *Predictions) Abort(ctx context.Context) error { return abort(ctx, p.writer) }

// abortWithin is how long ending a transaction may take: an open one is a wall for who reads
// behind it, until the broker ends it.
const abortWithin = 5 * time.Second

// abort ends the open transaction of a writer, if it has one, also when ctx is done. That
// brokers are away is no error; that a later writer of the same id has ended it is one, which
// may say why a request before has failed.
func abort(ctx context.Context, w *broker.Writer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWithin)
	defer cancel()
	if err := w.Abort(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
