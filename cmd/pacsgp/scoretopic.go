package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/internal/yamlfile"

	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/inorder"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A topicScorer predicts rows of a topic.
type topicScorer struct {
	scoring
	w        system
	show     *display
	follower follower
	client   *broker.Client
	rows     kafkalog.Config
	once     bool

	metrics *scoreMetrics
	by      *topicPredictor // the model that predicts
	told    map[string]bool

	mu    sync.Mutex // of what follows
	last  tally
	sum   tally
	from  string // the certificate of the last batch
	since time.Time
}

// A tally counts predictions.
type tally struct{ rows, refused, batches int64 }

func (t tally) and(more tally) tally {
	return tally{t.rows + more.rows, t.refused + more.refused, t.batches + more.batches}
}

// scoreTopics predicts what comes on a topic, until ctx is done or, with once, there is no
// more.
func scoreTopics(ctx context.Context, w system, c scoring, once bool) (err error) {
	show := newDisplay(w)
	defer show.end()
	k := c.Source.Kafka
	s := &topicScorer{scoring: c, w: w, show: show, once: once, metrics: newScoreMetrics().ofTopic(), told: map[string]bool{}, since: time.Now()}
	patience := time.Duration(0)
	if !once {
		patience = servicePatience
	}
	from, closeStand, err := c.stand(show.notice, patience)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStand()) }()
	s.follower = follower{from: from, res: c.Resources(), say: show.notice}
	defer func() {
		if s.follower.ready != nil {
			s.follower.ready.Close()
		}
	}()
	origin := &config.Topic{KafkaSection: k.Kafka()}
	if err := origin.Schemas(); err != nil {
		return err
	}
	cluster := k.Kafka().Cluster()
	if cluster.Told = show.notice; cluster.Patience == 0 {
		cluster.Patience = yamlfile.Duration(patience)
	}
	if s.client, err = cluster.Client(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.client.Close()) }()
	s.rows = kafkalog.Config{
		Client: s.client, Topic: k.Topic, Group: k.Group, Format: k.Format, SkipTombstones: k.Tombstones == "skip",
		Schema: origin.Config.Schema, Registry: origin.Config.Registry,
	}
	unserve, err := c.serve(ctx, s.metrics, show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unserve()) }()
	topics := []string{k.Topic}
	if c.ToTopic() {
		topics = append(topics, c.Output.Kafka.Topic)
	} else if err := s.follower.reads(ctx, c.Output.Folder); err != nil {
		return err
	}
	for _, topic := range topics { // before the group, which says less
		if _, err := s.client.Partitions(ctx, topic); err != nil {
			return s.ending(ctx, err)
		}
	}
	var measuring sync.WaitGroup
	defer measuring.Wait()
	measured, stop := context.WithCancel(ctx)
	defer stop()
	if c.Serve.Declared() {
		measuring.Go(func() { s.measureLag(measured) })
	}
	show.event(fmt.Sprintf("member of group %q: waiting for its partitions", k.Group))
	return s.ending(ctx, withSpaceHint(s.anew(s.client.Lead(ctx, broker.Group{Name: k.Group, Topic: k.Topic, Session: c.Session(), Told: s.metrics.membership}, s.lead))))
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
	where, what := "topic "+s.Output.Kafka.Topic, "member"
	if !s.ToTopic() {
		where, what = s.Output.Folder, "column"
	}
	_, err = fmt.Fprintf(s.w.stdout, "%s: predictions of %s, %d of them without a prediction (%s reason says why)\n",
		where, certify.Count(s.sum.rows, "row"), s.sum.refused, what)
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
	out, err := s.writer(ctx)
	if err != nil {
		return s.full(err)
	}
	defer func() { err = s.full(errors.Join(err, out.end(ctx))) }()
	// Behind the writer, which has waited until an earlier transaction had ended.
	if err := s.sameTopic(ctx); err != nil {
		return err
	}
	from, err := s.stands(ctx)
	if err != nil {
		return err
	}
	ends, err := out.stands()
	if err != nil {
		return err
	}
	defer func() { err = s.behind(err, from, ends) }()
	begin := maps.Clone(from)
	for partition, end := range ends {
		begin[partition] = max(from[partition], end)
	}
	// Reading, predicting and sending go on at the same time, and each keeps the order.
	all, within := errgroup.WithContext(ctx)
	takes, done := make(chan kafkalog.Take, 1), make(chan predictedLot, lotsAhead)
	all.Go(func() error {
		defer close(takes)
		return s.rows.Follow(within, begin, s.once, func(t kafkalog.Take) error { return hand(within, takes, t) })
	})
	all.Go(func() error {
		defer close(done)
		return inorder.Run(
			within, s.follower.res.Workers,
			func(ctx context.Context, next func(lot) error) error { return s.lots(ctx, takes, next) },
			func(l lot) (predictedLot, error) { return l.predict(out) },
			func(p predictedLot) error { return hand(within, done, p) },
		)
	})
	all.Go(func() error { return s.deliver(within, out, as, done) })
	if err := all.Wait(); err != nil {
		return err
	}
	return out.seen(ctx)
}

// writer is where predictions go.
func (s *topicScorer) writer(ctx context.Context) (lotWriter, error) {
	if !s.ToTopic() {
		return newLakeWriter(ctx, s)
	}
	out, err := sinklog.NewPredictions(ctx, sinklog.PredictionsConfig{
		Client: s.client, Group: s.rows.Group, Source: s.rows.Topic, Topic: s.Output.Kafka.Topic, ExactlyOnce: s.ExactlyOnce,
	})
	return topicWriter{out}, err
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

// lotsAhead is how many lots of predictions may wait to be sent.
const lotsAhead = 8

// deliver sends predictions, and notes how far their rows go.
func (s *topicScorer) deliver(ctx context.Context, out lotWriter, as broker.Member, from <-chan predictedLot) error {
	most, pauses, every := out.due()
	due := predictedLot{ends: map[int]int64{}} // what was sent and not committed
	var over <-chan time.Time
	commit := func() error {
		if over = nil; len(due.ends) == 0 {
			return nil
		}
		if err := s.sameTopic(ctx); err != nil {
			return err
		}
		if err := out.commit(ctx, as, due.ends, s.aboutOffsets(due.means)); err != nil {
			return err
		}
		s.count(due)
		due = predictedLot{ends: map[int]int64{}}
		return nil
	}
	for {
		select {
		case p, more := <-from:
			if !more {
				return commit()
			}
			if err := p.send(ctx); err != nil {
				return err
			}
			due.follow(p)
			if over == nil {
				over = time.After(every)
			}
			if (!p.pause || !pauses) && due.n.rows < most {
				continue
			}
		case <-over:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := commit(); err != nil {
			return err
		}
	}
}

// count counts predictions that are there for good.
func (s *topicScorer) count(p predictedLot) {
	s.metrics.predicted(p.n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum = s.sum.and(p.n)
	s.from = p.certificate
	s.tally(false)
}

// tallyEvery is the time between two events about what was predicted.
const tallyEvery = 10 * time.Second

// tally tells what was predicted since it told it last. The lock is held.
func (s *topicScorer) tally(now bool) {
	took := time.Since(s.since)
	if n := s.sum.rows - s.last.rows; n > 0 && (now || took >= tallyEvery) {
		s.show.event(fmt.Sprintf("predicted %s in %s, %d of them without a prediction, by the model of certificate %.12s…",
			certify.Count(n, "row"), certify.Count(s.sum.batches-s.last.batches, "batch", "batches"), s.sum.refused-s.last.refused, s.from))
		s.since, s.last = time.Now(), s.sum
	}
}
