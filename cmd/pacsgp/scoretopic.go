package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A topicScorer predicts rows of a topic.
type topicScorer struct {
	scoreConfig
	w        system
	show     *display
	follower follower
	client   *broker.Client
	rows     kafkalog.Config
	once     bool

	metrics  *scoreMetrics
	decoders []*kafkalog.Decoder // of the model that predicts
	of       string              // the id of its certificate
	told     map[string]bool

	mu    sync.Mutex // of what follows
	by    string     // the certificate of the last batch
	last  tally
	sum   tally
	since time.Time
}

// A tally counts predictions.
type tally struct{ rows, refused, batches int64 }

// scoreTopics predicts what comes on a topic, until ctx is done or, with once, there is no
// more.
func scoreTopics(ctx context.Context, w system, c scoreConfig, once bool) (err error) {
	show := newDisplay(w)
	defer show.end()
	k := c.Source.Kafka
	s := &topicScorer{scoreConfig: c, w: w, show: show, once: once, metrics: newScoreMetrics(), told: map[string]bool{}, since: time.Now()}
	patience := time.Duration(0)
	if !once {
		patience = servicePatience
	}
	from, closeStand, err := c.stand(show.notice, patience)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStand()) }()
	s.follower = follower{from: from, res: c.resources(), say: show.notice}
	defer func() {
		if s.follower.ready != nil {
			s.follower.ready.Close()
		}
	}()
	origin := &kafkaOrigin{kafkaConfig: k.kafka()}
	if err := origin.schemas(); err != nil {
		return err
	}
	cluster := k.kafka().cluster()
	if cluster.told = show.notice; cluster.Patience == 0 {
		cluster.Patience = span(patience)
	}
	if s.client, err = cluster.client(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.client.Close()) }()
	s.rows = kafkalog.Config{
		Client: s.client, Topic: k.Topic, Group: k.Group, Format: k.Format, SkipTombstones: k.Tombstones == "skip",
		Schema: origin.config.Schema, Registry: origin.config.Registry,
	}
	unserve, err := c.serve(ctx, s.metrics, show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unserve()) }()
	for _, topic := range []string{k.Topic, c.Output.Kafka} { // before the group, which says less
		if _, err := s.client.Partitions(ctx, topic); err != nil {
			return s.ending(ctx, err)
		}
	}
	show.event(fmt.Sprintf("member of group %q: waiting for its partitions", k.Group))
	return s.ending(ctx, s.client.Lead(ctx, broker.Group{Name: k.Group, Topic: k.Topic, Session: c.session(), Told: func(known bool, partitions int) {
		s.metrics.live.fact("member", memberWords(known, partitions))
	}}, s.lead))
}

// ending is how the command ends: a service that is stopped has done what it was asked to.
func (s *topicScorer) ending(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		if s.once {
			return ctx.Err()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tally(true)
		s.show.event("stopped: started again, it goes on where it was")
		return nil
	default:
	}
	if err != nil || !s.once {
		return err
	}
	_, err = fmt.Fprintf(s.w.stdout, "topic %s: predictions of %s, %d of them without a prediction (member reason says why)\n",
		s.Output.Kafka, certify.Count(s.sum.rows, "row"), s.sum.refused)
	return err
}

// lead predicts while this member has the partitions: anew from where the group stands
// when the group has come to another generation, or another process has ended this one's
// transaction.
func (s *topicScorer) lead(ctx context.Context, m *broker.Membership) error {
	s.show.event("this member has the partitions")
	for {
		as, err := m.Now(ctx)
		if err != nil {
			return err
		}
		err = s.predictAs(ctx, as)
		switch {
		case errors.Is(context.Cause(ctx), broker.ErrLost):
			s.show.notice("another member has the partitions now: this one stands by")
			return err
		case broker.Stale(err):
			if err := m.Over(ctx, as.Generation); err != nil {
				return err
			}
		case broker.Fenced(err):
			s.show.notice(err.Error())
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second): // for two that end each other
			}
		default:
			return err
		}
	}
}

// predictAs predicts, from where the group stands, as a member of one generation.
func (s *topicScorer) predictAs(ctx context.Context, as broker.Member) (err error) {
	out, err := sinklog.NewPredictions(ctx, sinklog.PredictionsConfig{
		Client: s.client, Group: s.rows.Group, Source: s.rows.Topic, Topic: s.Output.Kafka, ExactlyOnce: s.ExactlyOnce,
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && !broker.Fenced(err) {
			err = errors.Join(err, out.Abort(ctx))
		}
	}()
	// Behind the writer, which has waited until an earlier transaction had ended.
	from, err := s.stands(ctx)
	if err != nil {
		return err
	}
	// While one batch is read, the one before is predicted, and the one before that is sent.
	all, within := errgroup.WithContext(ctx)
	takes, parcels := make(chan kafkalog.Take), make(chan parcel)
	all.Go(func() error {
		defer close(takes)
		return s.rows.Follow(within, from, s.once, func(t kafkalog.Take) error { return hand(within, takes, t) })
	})
	all.Go(func() error {
		defer close(parcels)
		for t := range takes {
			p, err := s.predicted(within, t)
			if err == nil {
				err = hand(within, parcels, p)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	all.Go(func() error {
		for p := range parcels {
			if err := s.deliver(within, out, as, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err := all.Wait(); err != nil {
		return err
	}
	return out.Seen(ctx)
}

// hand gives something to who takes it next.
func hand[T any](ctx context.Context, to chan<- T, what T) error {
	select {
	case to <- what:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// aboutOffsets begins the text beside the offsets, which says what the predictions are about.
const aboutOffsets = "predictions "

// stands returns where the group stands, and finds out what its predictions are about.
func (s *topicScorer) stands(ctx context.Context) (map[int]int64, error) {
	partitions, err := s.client.Partitions(ctx, s.rows.Topic)
	if err != nil {
		return nil, err
	}
	at, texts, err := s.client.Committed(ctx, s.rows.Group, s.rows.Topic, partitions)
	if err != nil {
		return nil, err
	}
	for p, text := range texts {
		if at[p] < 0 {
			delete(at, p)
		} else if word, ok := strings.CutPrefix(text, aboutOffsets); ok && s.follower.means == "" {
			s.follower.means = word
		}
	}
	return at, nil
}

// A parcel is the predictions of a batch by one model.
type parcel struct {
	records     map[int][]broker.Record // by partition of the rows
	order       []int                   // of the partitions
	ends        map[int]int64
	certificate string
	means       string // what the predictions are about
	n           tally
}

// deliver sends the predictions of a batch, and notes how far its rows go.
func (s *topicScorer) deliver(ctx context.Context, out *sinklog.Predictions, as broker.Member, p parcel) error {
	for _, partition := range p.order {
		if err := out.Send(ctx, partition, p.records[partition]); err != nil {
			return err
		}
	}
	if err := out.Commit(ctx, as, p.ends, aboutOffsets+p.means); err != nil {
		return err
	}
	s.metrics.predicted(p.n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum = tally{s.sum.rows + p.n.rows, s.sum.refused + p.n.refused, s.sum.batches + p.n.batches}
	s.by = p.certificate
	s.tally(false)
	return nil
}

// tallyEvery is the time between two events about what was predicted.
const tallyEvery = 10 * time.Second

// tally tells what was predicted since it told it last. The lock is held.
func (s *topicScorer) tally(now bool) {
	took := time.Since(s.since)
	if n := s.sum.rows - s.last.rows; n > 0 && (now || took >= tallyEvery) {
		s.show.event(fmt.Sprintf("predicted %s in %d batches, %d of them without a prediction, by the model of certificate %.12s…",
			certify.Count(n, "row"), s.sum.batches-s.last.batches, s.sum.refused-s.last.refused, s.by))
		s.since, s.last = time.Now(), s.sum
	}
}

// model takes the model that is current, for which it waits where there is none.
func (s *topicScorer) model(ctx context.Context, t kafkalog.Take) error {
	for {
		err := s.follower.follow(ctx, func(m pipeline.Model) error { return s.hasColumns(ctx, m, t.Records) })
		if err == nil && s.of != s.follower.id {
			s.of = s.follower.id
			s.metrics.took(s.of)
			s.show.event(fmt.Sprintf("predictions are those of certificate %s", s.of))
			s.decoders, err = s.decodersOf(ctx, s.follower.model)
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

// decodersOf are those of a model's features, one for each worker.
func (s *topicScorer) decodersOf(ctx context.Context, m pipeline.Model) ([]*kafkalog.Decoder, error) {
	rows := s.rows
	rows.Columns = featuresOf(m)
	return rows.Decoders(context.WithoutCancel(ctx), s.follower.res.Workers, s.Keep...)
}

// hasColumns returns an error if no record has some feature of a model.
func (s *topicScorer) hasColumns(ctx context.Context, m pipeline.Model, records []kafkalog.Taken) error {
	decoders, err := s.decodersOf(ctx, m)
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

// predicted predicts a take with the model that is current.
func (s *topicScorer) predicted(ctx context.Context, t kafkalog.Take) (parcel, error) {
	if err := s.model(ctx, t); err != nil {
		return parcel{}, err
	}
	p := parcel{records: map[int][]broker.Record{}, ends: t.Ends, certificate: s.follower.id, means: s.follower.means, n: tally{batches: 1}}
	parts := make([]replies, len(s.decoders))
	objects := sink.NewPredictionObjects(carried(s.follower.current, s.follower.id), s.Keep...)
	unsaid := sink.NewPredictionObjects("", s.Keep...)
	speaks := speaksOf(s.follower.current, s.rows.Topic)
	var all errgroup.Group
	for i, d := range s.decoders {
		from, to := i*len(t.Records)/len(s.decoders), (i+1)*len(t.Records)/len(s.decoders)
		parts[i] = replies{ready: s.follower.ready, objects: objects, unsaid: unsaid, speaks: speaks, keep: len(s.Keep)}
		all.Go(func() error { return parts[i].of(d, t.Records[from:to]) })
	}
	if err := all.Wait(); err != nil {
		return p, err
	}
	for _, part := range parts {
		for _, r := range part.out {
			if p.records[r.partition] == nil {
				p.order = append(p.order, r.partition)
				if text := fmt.Sprintf("predictions of partition %d of %q carry no certificate id: certificate %.12s… speaks of other partitions", r.partition, s.rows.Topic, s.follower.id); !speaks(r.partition) && !s.told[text] {
					s.told[text] = true
					s.show.notice(text)
				}
			}
			p.records[r.partition] = append(p.records[r.partition], r.record)
		}
		p.n.rows, p.n.refused = p.n.rows+part.n.rows, p.n.refused+part.n.refused
	}
	return p, nil
}

// A reply is the prediction of a row as a record.
type reply struct {
	partition int // of the row
	record    broker.Record
}

// replies make records of predictions.
type replies struct {
	ready   *pipeline.Ready
	objects sink.PredictionObjects   // of rows that the certificate speaks of
	unsaid  sink.PredictionObjects   // of others
	speaks  func(partition int) bool // tells which
	keep    int
	out     []reply
	n       tally
}

var predictionSpace sync.Pool // of *[]pipeline.Prediction

// of decodes and predicts records.
func (a *replies) of(d *kafkalog.Decoder, records []kafkalog.Taken) error {
	rows, err := d.Rows(records)
	if err != nil {
		return err
	}
	defer rows.Batch.Release()
	space, ok := predictionSpace.Get().(*[]pipeline.Prediction)
	if !ok {
		space = new([]pipeline.Prediction)
	}
	defer predictionSpace.Put(space)
	*space, err = a.ready.Batch(rows.Batch, (*space)[:0])
	if err != nil {
		return err
	}
	a.out = make([]reply, 0, len(*space))
	text := make([]byte, 0, 256*len(*space)) // of all objects: where it grows, the first ones stay where they are
	none := make([][]byte, a.keep)
	at := 0 // number of the row in its record
	for i, p := range *space {
		if at++; i == 0 || rows.Of[i] != rows.Of[i-1] {
			at = 0
		}
		if fault := rows.Faults[i]; fault != "" {
			p = pipeline.Prediction{Reason: fault}
		}
		if a.n.rows++; p.Reason != "" {
			a.n.refused++
		}
		r := &records[rows.Of[i]]
		kept := none
		if rows.Kept != nil {
			kept = rows.Kept[i*a.keep : (i+1)*a.keep]
		}
		from := len(text)
		objects := a.objects
		if !a.speaks(r.Partition) {
			objects = a.unsaid
		}
		text = objects.Append(text, r.Partition, r.Offset, at, p, kept...)
		a.out = append(a.out, reply{r.Partition, broker.Record{Key: r.Key, Value: text[from:len(text):len(text)]}})
	}
	return nil
}
