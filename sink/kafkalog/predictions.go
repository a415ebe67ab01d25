package kafkalog

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
)

// Predictions sends predictions of the rows of one topic to another. It is for one goroutine, but
// for Pack.
type Predictions struct {
	cfg        PredictionsConfig
	writer     *broker.Writer
	partitions []int

	ends    map[int]int64 // behind what was sent and not committed
	subject string        // of it
}

var _ score.Writer[score.Records] = (*Predictions)(nil)

// TopicDue is when to commit: that takes as long as the predictions of tens of thousands of rows.
var TopicDue = score.Due{Rows: 1 << 17, Pause: true, Every: time.Second}

// PredictionsConfig says whence predictions come and where they go.
type PredictionsConfig struct {
	Client *broker.Client
	Group  string   // that reads the rows
	Source string   // topic of the rows
	Topic  string   // of predictions
	Keep   []string // members of records beside predictions
	As     broker.Member
	Log    score.Log
	// ExactlyOnce puts predictions and the offsets of their rows into one transaction, under an id
	// of the group: of two processes the later one ends the other.
	ExactlyOnce bool
}

// NewPredictions ends what an earlier process has left open, for ExactlyOnce.
func NewPredictions(ctx context.Context, cfg PredictionsConfig) (*Predictions, error) {
	p := &Predictions{cfg: cfg, ends: map[int]int64{}}
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

// A parcel is packed records of one partition.
type parcel struct {
	partition int
	pieces    []broker.Packed
}

// send sends a parcel.
func send(ctx context.Context, w *broker.Writer, topic string, what parcel) error {
	for _, piece := range what.pieces {
		if err := w.SendPacked(ctx, topic, what.partition, piece); err != nil {
			return err
		}
	}
	return nil
}

// Pack packs predictions of the rows of a piece, in their order, for the partitions of the same
// numbers, as far as there are so many: records of one key stay in one partition.
func (p *Predictions) Pack(ctx context.Context, piece score.Piece[score.Records]) (func(context.Context) error, score.Tally, error) {
	var n score.Tally
	var parcels []parcel
	var ends map[int]int64
	err := piece.Predict(ctx, func(batch []pipeline.Prediction, of score.Records) (err error) {
		n, ends = score.Count(batch), of.Ends()
		parcels, err = p.objects(piece.By, batch, of)
		return err
	})
	return func(ctx context.Context) error {
		for _, what := range parcels {
			if err := send(ctx, p.writer, p.cfg.Topic, what); err != nil {
				return err
			}
		}
		maps.Copy(p.ends, ends)
		p.subject = piece.By.Subject
		return nil
	}, n, err
}

// objects makes a record of each prediction, and packs them by partition.
func (p *Predictions) objects(by *score.Predictor, batch []pipeline.Prediction, of score.Records) (parcels []parcel, err error) {
	text := make([]byte, 0, 256*len(batch)) // of all objects: where it grows, the first ones stay where they are
	for _, part := range score.Parts(len(batch), of) {
		objects := sink.NewPredictionObjects(by.CarriedIn(p.cfg.Source, part.Partition), p.cfg.Keep...)
		records := make([]broker.Record, 0, len(part.Rows))
		for _, i := range part.Rows {
			partition, offset, key := of.Place(i)
			from := len(text)
			text = objects.Append(text, partition, offset, int(batch[i].Ordinal), batch[i], of.Kept(i)...)
			records = append(records, broker.Record{Key: key, Value: text[from:len(text):len(text)]})
		}
		pieces, err := packed(records, pieceBytes)
		if err != nil {
			return nil, err
		}
		parcels = append(parcels, parcel{p.partitions[part.Partition%len(p.partitions)], pieces})
	}
	return parcels, nil
}

// packed packs records into batches of at most so many bytes, uncompressed, or one record.
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

// recordBytes is more than a record has beside key and value.
const recordBytes = 64

// Commit notes how far the rows were predicted, as a member of the group, with the subject.
func (p *Predictions) Commit(ctx context.Context) error {
	if len(p.ends) == 0 {
		return nil
	}
	if err := p.cfg.Log.Same(ctx); err != nil {
		return err
	}
	if err := p.writer.CommitOffsetsAs(ctx, p.cfg.As, p.cfg.Group, p.cfg.Source, p.ends, p.cfg.Log.Note(p.subject)); err != nil {
		return err
	}
	p.ends = map[int]int64{}
	return p.writer.End(ctx)
}

// Seen waits until what was committed is read.
func (p *Predictions) Seen(ctx context.Context) error { return p.writer.Seen(ctx) }

// Abort gives up what was sent since the last commit, also when ctx is done; without ExactlyOnce
// it is read all the same.
func (p *Predictions) Abort(ctx context.Context) error { return unlessFenced(abort(ctx, p.writer)) }

// unlessFenced ignores that a later writer of the same id has aborted a transaction.
func unlessFenced(err error) error {
	if broker.Fenced(err) {
		return nil
	}
	return err
}

// abortWithin bounds an abort: an open transaction blocks read-committed consumers until the
// broker ends it.
const abortWithin = 5 * time.Second

// abort ends the open transaction of a writer, if it has one, also when ctx is done. Absent
// brokers are no error; a later writer of the same id is one, which may explain an earlier
// failure.
func abort(ctx context.Context, w *broker.Writer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWithin)
	defer cancel()
	if err := w.Abort(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
