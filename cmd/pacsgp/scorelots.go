package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

// A topicPredictor predicts rows of a topic by one model. Several goroutines may use it.
type topicPredictor struct {
	ready       *pipeline.Ready
	users       *sync.WaitGroup
	decoders    chan *kafkalog.Decoder   // that nobody uses
	objects     sink.PredictionObjects   // of rows that the certificate speaks of
	unsaid      sink.PredictionObjects   // of others
	speaks      func(partition int) bool // tells which
	keep        int
	certificate string
	carries     string // the certificate that the predictions name
	current     certify.Certificate
	means       string // what the predictions are about
}

// lotRecords is how many records are predicted together.
const lotRecords = 1 << 11

// A lot is some records of a take.
type lot struct {
	records []kafkalog.Taken
	ends    map[int]int64 // behind it, of the partitions that it has something of
	pause   bool          // behind it: see [kafkalog.Take]
	last    bool          // of its take
	by      *topicPredictor
}

// A predictedLot is the predictions of a lot, ready to be sent.
type predictedLot struct {
	send        func(context.Context) error
	ends        map[int]int64
	pause       bool
	certificate string
	means       string
	n           tally
}

// follow adds what is said of the next lot.
func (p *predictedLot) follow(next predictedLot) {
	maps.Copy(p.ends, next.ends)
	p.certificate, p.means = next.certificate, next.means
	p.n = p.n.and(next.n)
}

// lots cuts takes into lots, each take for the model that is current then.
func (s *topicScorer) lots(ctx context.Context, takes <-chan kafkalog.Take, next func(lot) error) error {
	for t := range takes {
		if err := s.model(ctx, t); err != nil {
			return err
		}
		s.tellStrangers(t)
		for from, to := 0, 0; from == 0 || from < len(t.Records); from = to {
			to = min(len(t.Records), from+lotRecords)
			l := lot{records: t.Records[from:to], by: s.by, ends: t.Ends, last: to == len(t.Records)}
			l.pause = t.Pause && l.last
			if !l.last {
				l.ends = map[int]int64{}
				for i := range l.records {
					l.ends[l.records[i].Partition] = l.records[i].Offset + 1
				}
			}
			s.by.users.Add(1)
			if err := next(l); err != nil {
				s.by.users.Done()
				return err
			}
			if l.last {
				break
			}
		}
	}
	return nil
}

// tellStrangers says once of which partitions the certificate does not speak.
func (s *topicScorer) tellStrangers(t kafkalog.Take) {
	for p := range t.Ends {
		if s.by.speaks(p) {
			continue
		}
		text := fmt.Sprintf("predictions of partition %d of %q carry no certificate id: certificate %.12s… speaks of other partitions", p, s.rows.Topic, s.by.certificate)
		if !s.told[text] {
			s.told[text] = true
			s.show.notice(text)
		}
	}
}

// model takes the model that is current, for which it waits where there is none.
func (s *topicScorer) model(ctx context.Context, t kafkalog.Take) error {
	for {
		err := s.follower.follow(ctx, func(m pipeline.Model) error { return s.hasColumns(ctx, m, t.Records) })
		if err == nil && (s.by == nil || s.by.certificate != s.follower.id) {
			if s.by, err = s.predictor(ctx); err == nil {
				s.metrics.took(s.by.certificate)
				s.show.event(fmt.Sprintf("predictions are those of certificate %s", s.by.certificate))
			}
		}
		if !errors.Is(err, errNoModel) || s.once {
			return err
		}
		if text := err.Error(); !s.told[text] {
			s.told[text] = true
			s.show.notice(text)
			s.metrics.fails(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// predictor is that of the model that is current.
func (s *topicScorer) predictor(ctx context.Context) (*topicPredictor, error) {
	f := &s.follower
	decoders, err := s.decodersOf(ctx, f.model, f.res.Workers)
	if err != nil {
		return nil, err
	}
	carries := carried(f.current, f.id)
	p := &topicPredictor{
		carries: carries, current: f.current, ready: f.ready, users: &f.users, decoders: make(chan *kafkalog.Decoder, len(decoders)),
		objects: sink.NewPredictionObjects(carries, s.Keep...), unsaid: sink.NewPredictionObjects("", s.Keep...),
		speaks: speaksOf(f.current, s.rows.Topic), keep: len(s.Keep), certificate: f.id, means: f.means,
	}
	for _, d := range decoders {
		p.decoders <- d
	}
	return p, nil
}

// decodersOf are those of a model's features.
func (s *topicScorer) decodersOf(ctx context.Context, m pipeline.Model, n int) ([]*kafkalog.Decoder, error) {
	rows := s.rows
	rows.Columns = featuresOf(m)
	return rows.Decoders(context.WithoutCancel(ctx), n, s.Keep...)
}

// hasColumns returns an error if no record has some feature of a model.
func (s *topicScorer) hasColumns(ctx context.Context, m pipeline.Model, records []kafkalog.Taken) error {
	decoders, err := s.decodersOf(ctx, m, 1)
	if err != nil || len(records) == 0 {
		return err
	}
	rows, err := decoders[0].Rows(records)
	if err != nil {
		return err
	}
	defer rows.Batch.Release()
	for j, name := range featuresOf(m) {
		if rows.Missing[j] == len(rows.Of) {
			return fmt.Errorf("no record of the batch has the column %q", name)
		}
	}
	return nil
}

var predictionSpace sync.Pool // of *[]pipeline.Prediction

// predict decodes and predicts a lot, and packs what comes of it.
func (l lot) predict(out lotWriter) (predictedLot, error) {
	defer l.by.users.Done()
	p := predictedLot{ends: l.ends, pause: l.pause, certificate: l.by.certificate, means: l.by.means}
	if l.last {
		p.n.batches = 1
	}
	d := <-l.by.decoders
	defer func() { l.by.decoders <- d }()
	rows, err := d.Rows(l.records)
	if err != nil {
		return p, err
	}
	defer rows.Batch.Release()
	space, ok := predictionSpace.Get().(*[]pipeline.Prediction)
	if !ok {
		space = new([]pipeline.Prediction)
	}
	defer predictionSpace.Put(space)
	if *space, err = l.by.ready.Batch(rows.Batch, (*space)[:0]); err != nil {
		return p, err
	}
	at := int64(0) // number of the row in its record
	for i := range *space {
		if at++; i == 0 || rows.Of[i] != rows.Of[i-1] {
			at = 0
		}
		one := &(*space)[i]
		if fault := rows.Faults[i]; fault != "" {
			*one = pipeline.Prediction{Reason: fault}
		}
		one.Ordinal = at
		if p.n.rows++; one.Reason != "" {
			p.n.refused++
		}
	}
	p.send, err = out.pack(l, rows, *space)
	return p, err
}

// A part is the rows of one partition.
type part struct {
	partition int
	rows      []int
}

// parts are the rows of a lot by their partitions, in the order of these.
func (l lot) parts(rows kafkalog.Decoded) []part {
	var parts []part
	places := map[int]int{}
	for i, of := range rows.Of {
		partition := l.records[of].Partition
		at, known := places[partition]
		if !known {
			at = len(parts)
			places[partition] = at
			parts = append(parts, part{partition, make([]int, 0, len(rows.Of)-i)})
		}
		parts[at].rows = append(parts[at].rows, i)
	}
	return parts
}

// kept are the members of the record of a row that are kept, as JSON; nil: it has none.
func (l lot) kept(rows kafkalog.Decoded, i int) [][]byte {
	if rows.Kept == nil {
		return make([][]byte, l.by.keep)
	}
	return rows.Kept[i*l.by.keep : (i+1)*l.by.keep]
}
