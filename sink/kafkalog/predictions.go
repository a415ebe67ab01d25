package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
)

// Predictions sends predictions of the rows of one topic to another topic, and commits them
// together with the offsets of their rows. It is for one goroutine at a time, except for Pack.
type Predictions struct {
	cfg         PredictionsConfig
	writer      *broker.Writer
	to          outlet
	deadLetters outlet

	ends    map[int]int64 // by partition: the offset after the rows with sent, uncommitted predictions
	subject string        // of the model that made these predictions
}

var _ score.Writer[score.Records] = (*Predictions)(nil)

// TopicDue is the rule for commits of predictions to a topic. A commit takes as long as tens of
// thousands of predictions.
var TopicDue = score.Due{Rows: 1 << 17, Pause: true, Every: time.Second}

// PredictionsConfig sets up a [Predictions].
type PredictionsConfig struct {
	Client      *broker.Client
	Group       string   // consumer group of the rows
	Source      string   // topic of the rows
	Topic       string   // of predictions
	Passthrough []string // members of records to keep next to predictions
	// DeadLetters, if not "", is the topic for records of rows without a prediction. They are sent
	// in the transactions of the predictions.
	DeadLetters string
	As          broker.Member
	Log         score.Log
	// Share is the partitions of a member of a shared group; nil means all. The transactional id
	// has the group and the first partition of the share.
	Share []int
}

// id returns the transactional id for all partitions. A later process fences an earlier one.
func (cfg PredictionsConfig) id() string { return "pacsgp/score/" + cfg.Group }

// EndOthers ends transactions that earlier owners of the partitions may have left open, also from
// before the group was shared. The function [EndOthers] says why, and when to call it.
func (cfg PredictionsConfig) EndOthers(ctx context.Context) error {
	if _, err := cfg.Client.NewWriter(ctx, cfg.id()); err != nil {
		return err
	}
	return endShares(ctx, cfg.Client, cfg.id(), cfg.Share)
}

// NewPredictions returns a writer. It aborts an open transaction of an earlier process.
func NewPredictions(ctx context.Context, cfg PredictionsConfig) (*Predictions, error) {
	p := &Predictions{cfg: cfg, ends: map[int]int64{}}
	var err error
	if p.to, err = openOutlet(ctx, cfg.Client, cfg.Topic); err != nil {
		return nil, err
	}
	if cfg.DeadLetters != "" {
		if p.deadLetters, err = openOutlet(ctx, cfg.Client, cfg.DeadLetters); err != nil {
			return nil, err
		}
	}
	p.writer, err = cfg.Client.NewWriter(ctx, transactional(cfg.id(), cfg.Share))
	return p, err
}

// errFound stops reading at the first record.
var errFound = errors.New("kafka: a record was found")

// Continues returns an error if the topic has predictions but the group has no offsets: rows would
// be predicted twice. Brokers drop offsets with the rows' topic, and after days without a member.
func (p *Predictions) Continues(ctx context.Context) error {
	client, from, group := p.cfg.Client, p.cfg.Source, p.cfg.Group
	partitions, err := client.Partitions(ctx, from)
	if err != nil {
		return err
	}
	for range 2 {
		offsets, err := client.CommittedOffsets(ctx, group, from, partitions)
		if err != nil || slices.Max(slices.Collect(maps.Values(offsets))) >= 0 {
			return err
		}
		first, end, err := client.Bounds(ctx, p.to.name, p.to.partitions)
		for _, i := range p.to.partitions {
			if err == nil {
				err = client.Read(ctx, broker.Range{Topic: p.to.name, Partition: i, First: first[i], End: end[i]}, func(*broker.Record) error { return errFound })
			}
		}
		if !errors.Is(err, errFound) {
			return err
		}
		// Another member's first transaction may reach this topic before it reaches the group.
		if err := broker.Pause(ctx, abortWithin); err != nil {
			return err
		}
	}
	return fmt.Errorf("topic %q has predictions, but group %q has no offsets of topic %q: they have expired, or %w", p.to.name, group, from, broker.ErrAnother)
}

// A parcel has packed records for one partition.
type parcel struct {
	topic     string
	partition int
	pieces    []broker.Packed
}

func send(ctx context.Context, w *broker.Writer, what ...parcel) error {
	for _, p := range what {
		for _, piece := range p.pieces {
			if err := w.SendPacked(ctx, p.topic, p.partition, piece); err != nil {
				return err
			}
		}
	}
	return nil
}

// Pack packs the predictions of a piece in the order of its rows; the returned function sends them.
// A prediction goes to the partition with the row's partition number, modulo their count, so that
// records of one key stay in one partition.
func (p *Predictions) Pack(ctx context.Context, piece score.Piece[score.Records]) (func(context.Context) error, score.Counts, error) {
	var n score.Counts
	var parcels []parcel
	var ends map[int]int64
	err := piece.Predict(ctx, func(batch []pipeline.Prediction, from score.Records) (err error) {
		ends = from.Ends()
		if parcels, err = p.objects(piece.By, batch, from); err != nil {
			return err
		}
		if n = score.Count(batch); p.cfg.DeadLetters == "" {
			return nil
		}
		deadLetters, err := p.deadLetters.deadLetters(batch, from, nil)
		parcels = append(parcels, deadLetters...)
		return err
	})
	return func(ctx context.Context) error {
		if err := send(ctx, p.writer, parcels...); err != nil {
			return err
		}
		maps.Copy(p.ends, ends)
		p.subject = piece.By.Subject
		return nil
	}, n, err
}

// objects makes a record of each prediction and packs the records by partition. If a record is too
// large, it is replaced by one with the reason, without prediction, key and kept members.
func (p *Predictions) objects(by *score.Predictor, batch []pipeline.Prediction, source score.Records) (parcels []parcel, err error) {
	text := make([]byte, 0, 256*len(batch)) // if it grows, earlier objects keep their old memory
	partitions, rows := score.Parts(len(batch), source)
	for part, partition := range partitions {
		objects := sink.NewPredictionObjects(by.CarriedIn(p.cfg.Source, partition), p.cfg.Passthrough...)
		records := make([]broker.Record, 0, len(rows[part]))
		for _, i := range rows[part] {
			_, offset, key := source.Position(i)
			from := len(text)
			text = objects.Append(text, partition, offset, int(batch[i].Ordinal), batch[i], source.Kept(i)...)
			records = append(records, broker.Record{Key: key, Value: text[from:len(text):len(text)]})
		}
		pieces, err := p.to.packed(records, pieceBytes, func(at int) broker.Record {
			i := rows[part][at]
			_, offset, _ := source.Position(i)
			if batch[i].Reason == "" {
				batch[i].Reason = "its prediction with key and members cannot be sent: " + p.to.refusal(room(records[at]))
			}
			return broker.Record{Value: objects.Append(nil, partition, offset, int(batch[i].Ordinal), batch[i], make([][]byte, len(p.cfg.Passthrough))...)}
		})
		if err != nil {
			return nil, err
		}
		parcels = append(parcels, parcel{p.to.name, p.to.at(partition), pieces})
	}
	return parcels, nil
}

// Commit commits the sent predictions with the offsets after their rows, as a member of the group.
func (p *Predictions) Commit(ctx context.Context) error {
	if len(p.ends) == 0 {
		return nil
	}
	if err := p.cfg.Log.Same(ctx); err != nil {
		return err
	}
	if err := p.writer.CommitOffsets(ctx, &p.cfg.As, p.cfg.Group, p.cfg.Source, p.ends, p.cfg.Log.Note(p.subject)); err != nil {
		return err
	}
	p.ends = map[int]int64{}
	return p.writer.End(ctx)
}

// Seen waits, for up to 20 seconds, until readers see everything that was committed.
func (p *Predictions) Seen(ctx context.Context) error { return p.writer.Seen(ctx) }

// Abort drops what was sent since the last commit, even if ctx is done.
func (p *Predictions) Abort(ctx context.Context) error { return unlessFenced(abort(ctx, p.writer)) }

// unlessFenced returns nil if err means that a later writer of the same id has fenced this one.
func unlessFenced(err error) error {
	if broker.Fenced(err) {
		return nil
	}
	return err
}

// abortWithin bounds the time of an abort. If it fails, the broker ends the open transaction, which
// until then blocks read-committed consumers.
const abortWithin = 5 * time.Second

// abort ends an open transaction of w, even if ctx is done. It returns nil if brokers do not answer
// in time, but an error if w is fenced, since that may explain an earlier failure.
func abort(ctx context.Context, w *broker.Writer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWithin)
	defer cancel()
	if err := w.Abort(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
