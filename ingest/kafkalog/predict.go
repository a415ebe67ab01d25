package kafkalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

var (
	_ score.Reader[score.Records] = (*Unpredicted)(nil)
	_ score.Log                   = (*Unpredicted)(nil)
)

// Unpredicted reads the rows of a topic that a group has not predicted yet, for [score.Loop]. It is
// for one goroutine at a time, except for Same and the methods of pieces.
type Unpredicted struct {
	Config // uses Topic, Partitions, Group, Client, Format, Schema and Registry; Same sets Identity

	Passthrough []string // members of records to keep next to predictions
	Labels      bool     // also read the target
	Workers     int
	Once        bool              // stop at the current end of the topic
	Warning     func(text string) // called once for each partition that a certificate does not cover

	begin   map[int]int64 // offsets to begin at, by partition
	offsets *broker.Writer
	by      *score.Predictor // the predictor of the decoders
	free    chan *rowDecoder // unused decoders
	warned  map[string]bool  // texts with which Warning was called
}

// aboutOffsets begins the metadata of committed offsets. Then come the subject of the predictions
// and, if brokers report them, the ids of topic and cluster.
const aboutOffsets = "predictions "

// Note returns the metadata to commit with offsets of predictions by a subject.
func (u *Unpredicted) Note(subject string) string {
	text := aboutOffsets + subject
	if of := u.Identity; of != (broker.Identity{}) {
		text += " " + of.Topic + " " + of.Cluster
	}
	return text
}

// readNote parses metadata from Note. For other texts it returns zero values.
func readNote(text string) (subject string, identity broker.Identity) {
	rest, ok := strings.CutPrefix(text, aboutOffsets)
	if !ok {
		return "", broker.Identity{}
	}
	subject, rest, _ = strings.Cut(rest, " ")
	if topic, cluster, ok := strings.Cut(rest, " "); ok {
		identity = broker.Identity{Cluster: cluster, Topic: topic}
	}
	return subject, identity
}

// Same returns an error if the topic was replaced since the first call. It cannot tell if brokers
// report no ids. Call it before all other methods.
func (u *Unpredicted) Same(ctx context.Context) (err error) {
	if u.Identity == (broker.Identity{}) {
		u.Identity, err = u.Client.Identity(ctx, u.Topic)
		return err
	}
	return u.Client.Same(ctx, u.Identity, u.Topic, "when this process began")
}

// Positions returns the committed offset of the group in each partition, and the subject of the
// predictions before it. Offsets of a replaced topic are an error.
func (u *Unpredicted) Positions(ctx context.Context) (at map[int]int64, subject string, err error) {
	partitions, err := u.Client.Partitions(ctx, u.Topic)
	if err != nil {
		return nil, "", err
	}
	at, texts, err := u.Client.Committed(ctx, u.Group, u.Topic, partitions)
	if err != nil {
		return nil, "", err
	}
	for _, p := range partitions {
		if at[p] < 0 {
			delete(at, p)
			continue
		}
		about, of := readNote(texts[p])
		if err := u.Identity.Same(of, u.Topic, fmt.Sprintf("the one that group %q has offsets of", u.Group)); err != nil {
			return nil, "", err
		}
		subject = cmp.Or(subject, about)
	}
	return at, subject, nil
}

// From sets the offsets at which the next Read begins. Other partitions begin at their earliest offset.
func (u *Unpredicted) From(begin map[int]int64) { u.begin = begin }

// Read calls use for each batch of records. Meanwhile it reads the next one.
func (u *Unpredicted) Read(ctx context.Context, use func(score.Unit[score.Records]) error) error {
	u.by = nil // its decoders use the context of an earlier call for the registry
	ctx, stop := context.WithCancel(ctx)
	batches, ended := make(chan Batch, 1), make(chan error, 1)
	defer func() {
		stop()
		for range batches { // wait until follow has ended
		}
	}()
	go func() {
		defer close(batches)
		ended <- u.follow(ctx, u.begin, u.Once, func(t Batch) error {
			select {
			case batches <- t:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for {
		var next score.Unit[score.Records]
		select {
		case t, more := <-batches:
			if !more {
				return <-ended
			}
			next = unpredictedBatch{u, t}
		case <-time.After(idle):
		}
		if err := use(next); err != nil {
			return err
		}
	}
}

// idle is the time without records after which Read calls use with nil.
const idle = 30 * time.Second

// An unpredictedBatch is a batch of records for one model to predict.
type unpredictedBatch struct {
	of *Unpredicted
	Batch
}

// File returns a zero File: the rows are not from a file.
func (unpredictedBatch) File(context.Context) (score.File, error) { return score.File{}, nil }

// decodersOf returns n decoders of a model's features and, with Labels, of its target.
func (u *Unpredicted) decodersOf(ctx context.Context, m pass.Model, n int) ([]*rowDecoder, error) {
	cfg := u.Config
	cfg.Columns, cfg.Encoded = m.Meta.Inputs(), m.Meta.Encode
	if u.Labels {
		cfg.Columns = append(cfg.Columns, m.Meta.Target.Name)
	}
	return cfg.decoders(ctx, n, u.Passthrough...)
}

// Fits returns an error if all records of the batch lack a feature that the model needs.
func (t unpredictedBatch) Fits(ctx context.Context, m pass.Model) error {
	decoders, err := t.of.decodersOf(ctx, m, 1)
	if err != nil || len(t.Records) == 0 {
		return err
	}
	rows, err := decoders[0].rows(t.Records)
	if err != nil {
		return err
	}
	defer rows.Batch.Release()
	for j, name := range m.Meta.Inputs() {
		if rows.Missing[j] == len(t.Records) && !m.Meta.Encode.Fills(name) {
			return m.Meta.Lacks(fmt.Errorf("no record of the batch has the column %q", name))
		}
	}
	return nil
}

// pieceRecords is how many records are predicted together.
const pieceRecords = 1 << 11

func (t unpredictedBatch) Cut(ctx context.Context, by *score.Predictor, next func(score.Piece[score.Records]) error) error {
	if err := t.of.decode(ctx, by); err != nil {
		return err
	}
	t.of.tellOthers(t.Batch, by)
	for from := 0; ; from += pieceRecords {
		to := min(len(t.Records), from+pieceRecords)
		l := &recordPiece{topic: t.of.Topic, records: t.Records[from:to], keep: len(t.of.Passthrough), ends: t.Ends}
		last := to == len(t.Records)
		if !last {
			l.ends = map[int]int64{}
			for i := range l.records {
				l.ends[l.records[i].Partition] = l.records[i].Offset + 1
			}
		}
		free := t.of.free
		err := next(score.Piece[score.Records]{Last: last, Pause: t.Pause && last, Predict: func(_ context.Context, use func([]pipeline.Prediction, score.Records) error) error {
			d := <-free
			defer func() { free <- d }()
			return l.predict(d, by.Ready, use)
		}})
		if err != nil || last {
			return err
		}
	}
}

// decode makes the decoders for a model, unless it has them.
func (u *Unpredicted) decode(ctx context.Context, by *score.Predictor) error {
	if u.by == by {
		return nil
	}
	decoders, err := u.decodersOf(ctx, by.Model, u.Workers)
	if err != nil {
		return err
	}
	u.by, u.free = by, make(chan *rowDecoder, len(decoders))
	for _, d := range decoders {
		u.free <- d
	}
	return nil
}

// tellOthers calls Warning once for each partition that the certificate does not cover.
func (u *Unpredicted) tellOthers(t Batch, by *score.Predictor) {
	for p := range t.Ends {
		text := fmt.Sprintf("predictions of partition %d of %q carry no certificate id: certificate %.12s… is about other partitions", p, u.Topic, by.ID)
		if by.SpeaksOf(u.Topic, p) || u.warned[text] {
			continue
		}
		if u.warned == nil {
			u.warned = map[string]bool{}
		}
		u.warned[text] = true
		u.Warning(text)
	}
}

// A recordPiece has some records of a batch and, once decoded, their rows.
type recordPiece struct {
	topic   string
	records []Record
	keep    int           // number of kept members of a record
	ends    map[int]int64 // by partition: the offset after the piece
	rows    decodedRows
}

func (l *recordPiece) predict(d *rowDecoder, ready *pipeline.Ready, use func([]pipeline.Prediction, score.Records) error) (err error) {
	if l.rows, err = d.rows(l.records); err != nil {
		return err
	}
	defer l.rows.Batch.Release()
	predictions, err := ready.Batch(l.rows.Batch, make([]pipeline.Prediction, 0, len(l.records)))
	if err != nil {
		return err
	}
	for i := range predictions {
		if fault := l.rows.Faults[i]; fault != "" {
			predictions[i] = pipeline.Prediction{Reason: fault}
		}
		predictions[i].Ordinal = 0 // a record is one row
	}
	return use(predictions, l)
}

func (l *recordPiece) Position(i int) (partition int, offset int64, key []byte) {
	r := &l.records[i]
	return r.Partition, r.Offset, r.Key
}

func (l *recordPiece) Kept(i int) [][]byte {
	if l.rows.Kept == nil {
		return make([][]byte, l.keep)
	}
	return l.rows.Kept[i*l.keep : (i+1)*l.keep]
}

func (l *recordPiece) Ends() map[int]int64 { return l.ends }

// Letter returns the record of row i as a dead letter.
func (l *recordPiece) Letter(i int, reason string, header func(name string, value []byte)) (key, value []byte) {
	r := letterOf(l.topic, l.records[i].Partition, &l.records[i].Record, reason)
	for _, h := range r.Headers {
		header(h.Key, h.Value)
	}
	return r.Key, r.Value
}

// Commit commits the end offsets of durable predictions, as a member of the group.
func (u *Unpredicted) Commit(ctx context.Context, as broker.Member, ends map[int]int64, subject string) (err error) {
	if u.offsets == nil {
		if u.offsets, err = u.Client.NewWriter(ctx, ""); err != nil {
			return err
		}
	}
	return u.offsets.CommitOffsets(ctx, &as, u.Group, u.Topic, ends, u.Note(subject))
}

// Hint adds a remedy to err if the topic was replaced, or has lost rows before they were predicted.
// output describes what to choose besides another group.
func (u *Unpredicted) Hint(err error, output string) error {
	if gone, ok := errors.AsType[*GoneError](err); ok {
		return fmt.Errorf("%w (hint: these rows had no predictions, and can get none. To go on behind them set the group to the oldest offset that is left, "+
			"as with kafka-consumer-groups --group %s --topic %s:%d --reset-offsets --to-offset %d --execute; "+
			"or predict all that is left, with another group and another output %s)", err, u.Group, gone.Topic, gone.Partition, gone.Start, output)
	}
	_, behind := errors.AsType[behindError](err)
	if !behind && !errors.Is(err, broker.ErrAnother) {
		return err
	}
	return fmt.Errorf("%w (hint: to predict the rows that are there now, choose another group and another output %s)", err, output)
}
