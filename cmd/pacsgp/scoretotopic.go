package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/internal/yamlfile"

	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/inorder"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A fileSender sends predictions of files to a topic. How far those of a file go is sent with
// them, in one transaction, so that whatever moment it is killed at, the next process goes on
// behind them.
type fileSender struct {
	*scorer

	out *sinklog.FilePredictions
}

// scoreToTopic predicts what files there are and, unless it is once, what comes, to a topic.
func scoreToTopic(ctx context.Context, w system, c scoring, once bool) (err error) {
	show := newDisplay(w)
	defer show.end()
	patience := time.Duration(0)
	if !once {
		patience = servicePatience
	}
	from, closeStand, err := c.stand(show.notice, patience)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStand()) }()
	cluster := c.OutputCluster()
	if cluster.Told = show.notice; cluster.Patience == 0 {
		cluster.Patience = yamlfile.Duration(patience)
	}
	client, err := cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	s := &fileSender{scorer: newScorer(c, w, from, show.notice, show.event)}
	s.follower.fresh = s.anotherTopic()
	defer func() {
		if s.follower.ready != nil {
			s.follower.ready.Close()
		}
	}()
	unserve, err := c.serve(ctx, s.metrics, show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unserve()) }()
	err = s.run(ctx, client, once)
	if ctx.Err() != nil {
		if once {
			return ctx.Err()
		}
		s.event("stopped: started again, it goes on where it was")
		return nil
	}
	if errors.Is(err, broker.ErrAnother) || errors.Is(err, sinklog.ErrRecord) {
		err = fmt.Errorf("%w (hint: to begin anew, choose %s)", err, s.anotherTopic())
	}
	return err
}

// anotherTopic is what to choose to begin anew.
func (s *fileSender) anotherTopic() string {
	if s.Output.Kafka.Record != "" {
		return "another output topic and another record"
	}
	return "another output topic"
}

// run predicts, until ctx is done or, with once, there is no more.
func (s *fileSender) run(ctx context.Context, client *broker.Client, once bool) (err error) {
	s.out, err = sinklog.OpenFiles(ctx, sinklog.FilesConfig{Client: client, Topic: s.Output.Kafka.Topic, Record: s.Output.Kafka.Record, Told: s.event})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.out.Abort(ctx)) }()
	s.follower.means = s.out.About()
	s.event(fmt.Sprintf("predictions go to topic %q, which has those of %s", s.Output.Kafka.Topic, certify.Count(int64(s.out.Files()), "file")))
	wait := time.NewTicker(s.Every())
	defer wait.Stop()
	for {
		failed, missing, err := s.round(ctx)
		switch {
		case err != nil:
			return err
		case missing != nil && once:
			return missing
		case missing != nil:
			s.once(missing)
			s.metrics.fails(missing)
		case once:
			return errors.Join(s.out.Seen(ctx), s.summary("topic "+s.Output.Kafka.Topic, "member", failed))
		}
		select {
		case <-wait.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A filePart is predictions of some rows of a file, one behind the other.
type filePart struct {
	key     string
	now     sinklog.Progress // of the file, behind them
	path    string
	objects [][]byte
	parcel  sinklog.Parcel
	n       tally
	means   string // what they are about
}

// partsAhead is how many parts may wait to be sent.
const partsAhead = 4

// round predicts all files that have not all their predictions, and counts those that it
// could not. What is missing to predict any may come; other errors end the process.
func (s *fileSender) round(ctx context.Context) (failed int, missing, err error) {
	if err := s.out.Same(ctx); err != nil {
		return 0, nil, err
	}
	paths, missing := ingestlake.List(ctx, s.Source.Paths)
	if missing != nil {
		return 0, missing, ctx.Err()
	}
	// Predicting and sending go on at the same time, and both keep the order.
	all, within := errgroup.WithContext(ctx)
	parts := make(chan filePart, partsAhead)
	all.Go(func() error {
		defer close(parts)
		return inorder.Run(
			within, s.follower.res.Workers,
			func(ctx context.Context, next func(filePart) error) (err error) {
				failed, missing, err = s.predictAll(ctx, paths, next)
				return err
			},
			func(p filePart) (_ filePart, err error) {
				if len(p.objects) > 0 {
					p.parcel, err = s.out.Pack(p.now.File, p.objects)
				}
				return p, err
			},
			func(p filePart) error { return hand(within, parts, p) },
		)
	})
	all.Go(func() error { return s.deliver(within, parts) })
	err = all.Wait() // before the others are read
	return failed, missing, err
}

// predictAll hands on the predictions that the files lack.
func (s *fileSender) predictAll(ctx context.Context, paths []string, next func(filePart) error) (failed int, missing, err error) {
	for _, path := range paths {
		err := s.predictFile(ctx, path, next)
		switch {
		case ctx.Err() != nil:
			return failed, nil, ctx.Err()
		case errors.Is(err, errNoModel):
			return failed, err, nil
		case err != nil: // which stops no other file
			failed++
			s.once(err)
		}
	}
	return failed, nil, nil
}

// predictFile hands on the predictions that a file lacks.
func (s *fileSender) predictFile(ctx context.Context, path string, next func(filePart) error) error {
	f, err := s.known(ctx, path)
	if err != nil {
		return err
	}
	key := sinklog.FileKey(f.Path, digestOf([]pipeline.ManifestFile{f})[:16])
	from, done := s.out.Progress(key)
	if done {
		return nil
	}
	if err := s.follow(ctx, path); err != nil {
		return err
	}
	means, certificate := s.follower.means, s.follower.id
	return s.predict(ctx, path, f.Path, from, func(objects [][]byte, n tally, to int64, last bool) error {
		now := sinklog.Progress{File: f.Path, Rows: to, Done: last, Certificate: certificate}
		return next(filePart{key: key, path: path, objects: objects, n: n, now: now, means: means})
	})
}

// predict predicts a file, which has a name on the topic, and hands on its predictions from a
// row on, with the number of the row behind them, and at last that there are no more.
func (s *fileSender) predict(ctx context.Context, path, name string, from int64, use func(objects [][]byte, n tally, to int64, last bool) error) (err error) {
	src, kept, columns, err := s.openBoth(ctx, path, s.follower.model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	to := sink.NewFileObjects(name, carried(s.follower.current, s.follower.id), s.out.Largest(name), columns...)
	at := int64(0)
	err = s.follower.ready.Predict(ctx, src, func(batch []pipeline.Prediction) error {
		beside, err := kept.Next(ctx, len(batch))
		if err != nil {
			return err
		}
		known := int(min(max(from-at, 0), int64(len(batch)))) // an earlier process has sent these
		at += int64(len(batch))
		if known == len(batch) {
			return nil
		}
		objects, err := to.Write(batch, beside, known)
		if err != nil {
			return fmt.Errorf("%s, %w: keep fewer columns, or raise max.message.bytes of topic %q", path, err, s.Output.Kafka.Topic)
		}
		return use(objects, tallyOf(batch[known:]), at, false)
	})
	if err != nil {
		return err
	}
	return use(nil, tally{batches: 1}, at, true)
}

// tallyOf counts predictions.
func tallyOf(predictions []pipeline.Prediction) (n tally) {
	for i := range predictions {
		if n.rows++; predictions[i].Reason != "" {
			n.refused++
		}
	}
	return n
}

const (
	sentRows  = 1 << 17 // of a transaction, about
	sentEvery = time.Second
)

// A sending is what was sent and is not there for good.
type sending struct {
	now   map[string]sinklog.Progress
	n     tally
	files []filePart // the last of each that has all its predictions, with the tally of all
}

// deliver sends predictions, and commits them with how far they go: after some rows, after a
// second, or when there are no more.
func (s *fileSender) deliver(ctx context.Context, from <-chan filePart) error {
	most := cmp.Or(s.w.sent, sentRows)
	due := sending{now: map[string]sinklog.Progress{}}
	var file filePart // at work
	var over <-chan time.Time
	commit := func() error {
		if over = nil; len(due.now) == 0 {
			return nil
		}
		if err := s.out.Commit(ctx, due.now); err != nil {
			return err
		}
		s.sent(due)
		due = sending{now: map[string]sinklog.Progress{}}
		return nil
	}
	for {
		select {
		case p, more := <-from:
			if !more {
				return commit()
			}
			if err := s.out.Begin(ctx, p.means, p.now.Certificate); err != nil {
				return err
			}
			if err := s.out.Send(ctx, p.parcel); err != nil {
				return err
			}
			due.now[p.key], due.n = p.now, due.n.and(p.n)
			if p.key == file.key {
				p.n = p.n.and(file.n)
			}
			if file = p; p.now.Done {
				due.files = append(due.files, p)
			}
			if over == nil {
				over = time.After(sentEvery)
			}
			if due.n.rows < most {
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

// sent counts predictions that are there for good.
func (s *fileSender) sent(what sending) {
	s.rows, s.refused = s.rows+what.n.rows, s.refused+what.n.refused
	s.metrics.predicted(what.n)
	for _, f := range what.files {
		s.done++
		rows := certify.Count(f.n.rows, "row")
		if f.n.rows < f.now.Rows { // the others were predicted before
			rows = fmt.Sprintf("the last %d of its %s", f.n.rows, certify.Count(f.now.Rows, "row"))
		}
		s.event(fmt.Sprintf("%s: predictions of %s, %d of them without a prediction, in topic %s", f.path, rows, f.n.refused, s.Output.Kafka.Topic))
	}
}
