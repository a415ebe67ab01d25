package score

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/internal/inorder"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Loop predicts the rows of a reader with the current model of a follower, and passes the predictions to a writer.
type Loop[B any] struct {
	Follower *Follower
	Reader   Reader[B]
	Writer   Writer[B]
	Events   Events
	// Has reports whether a file has all its predictions already. A file that fails does not stop the others, and the
	// next Run tries it again. Has is nil for records, where a failure ends the loop.
	Has    func(File) (bool, error)
	AtOnce int  // pieces that are predicted and packed at the same time
	Due    Due  // when to commit
	Once   bool // run one round, and do not wait for a model
	// RoundEnded, if not nil, is called after each round with the number of files that failed.
	RoundEnded func(failed int)
	// After returns a channel that receives a value after a duration, as [time.After].
	After func(time.Duration) <-chan time.Time
}

// LookEvery is the time between reads of the pointer while there is no model.
const LookEvery = time.Second

// mostPacked is the largest number of packed pieces that wait to be sent.
const mostPacked = 8

// errBroken means that an earlier piece of the unit has failed.
var errBroken = errors.New("an earlier piece has failed")

// A unit is the state of one of the reader's units.
type unit struct {
	file   File
	broken atomic.Bool // whether a piece has failed, so that later ones are skipped
}

// A work is a piece on its way from the reader to the writer, or an error of its unit.
type work[B any] struct {
	Piece[B]

	unit *unit
	send func(context.Context) error
	n    Counts
	err  error
}

// Rounds calls Run at this interval until ctx is done, or once if Once is set. After an error marked by [Later] it
// reports the error and continues. failed is the number of files that failed in the last round.
func (l *Loop[B]) Rounds(ctx context.Context, every time.Duration) (failed int, err error) {
	for {
		next := l.After(every)
		failed, err := l.Run(ctx)
		if err == nil && l.RoundEnded != nil {
			l.RoundEnded(failed)
		}
		if l.Once || ctx.Err() != nil || err != nil && !IsLater(err) {
			return failed, err
		}
		if err != nil {
			l.Events.Waits(err)
		}
		select {
		case <-next:
		case <-ctx.Done():
			return failed, ctx.Err()
		}
	}
}

// Run predicts all rows that the reader has, each unit with the model that is current when it is read, and returns the
// number of files that failed. Reading, predicting and sending overlap, and keep the order of the rows.
func (l *Loop[B]) Run(ctx context.Context) (failed int, err error) {
	if _, err := l.model(ctx, nil); err != nil {
		return 0, err
	}
	all, within := errgroup.WithContext(ctx)
	packed := make(chan work[B], mostPacked)
	all.Go(func() error {
		defer close(packed)
		return inorder.Run(
			within, l.AtOnce, l.read, l.pack,
			func(ctx context.Context, p work[B]) error {
				if p.err != nil && !p.unit.broken.Swap(true) {
					failed++
					l.Events.Failed(p.err)
				}
				if p.unit.broken.Load() {
					return nil
				}
				select {
				case packed <- p:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			},
		)
	})
	all.Go(func() error { return l.deliver(within, packed) })
	err = all.Wait() // before failed is read
	return failed, err
}

// read calls next with the pieces of all units.
func (l *Loop[B]) read(ctx context.Context, next func(work[B]) error) error {
	return l.Reader.Read(ctx, func(u Unit[B]) error {
		if u == nil {
			_, err := l.model(ctx, nil)
			return err
		}
		of := &unit{}
		err := l.cut(ctx, u, of, next)
		switch {
		case err == nil, errors.Is(err, errBroken):
			return nil
		case l.ends(ctx, err):
			return err
		}
		return next(work[B]{unit: of, err: err})
	})
}

// ends reports whether an error ends the loop and not only its unit.
func (l *Loop[B]) ends(ctx context.Context, err error) bool {
	return ctx.Err() != nil || l.Has == nil || IsLater(err)
}

// cut calls next with the pieces of a unit, to be predicted with the current model.
func (l *Loop[B]) cut(ctx context.Context, u Unit[B], progress *unit, next func(work[B]) error) (err error) {
	if progress.file, err = u.File(ctx); err != nil {
		return err
	}
	if l.Has != nil {
		if has, err := l.Has(progress.file); has || err != nil {
			return err
		}
	}
	by, err := l.model(ctx, func(m pass.Model) error { return u.Fits(ctx, m) })
	if err != nil {
		return err
	}
	return u.Cut(ctx, by, func(p Piece[B]) error {
		if progress.broken.Load() {
			return errBroken
		}
		p.File, p.By = progress.file, by
		by.users.Add(1)
		if err := next(work[B]{Piece: p, unit: progress}); err != nil {
			by.users.Done()
			return err
		}
		return nil
	})
}

// model returns the current model, with fits as for [Follower.Follow]. For records it waits until there is a model,
// because a failure would end the loop.
func (l *Loop[B]) model(ctx context.Context, fits func(pass.Model) error) (*Predictor, error) {
	for {
		before := l.Follower.now
		by, err := l.Follower.Follow(ctx, fits)
		if err == nil && by != before {
			l.Events.Adopted(by)
		}
		if !errors.Is(err, ErrNoModel) || l.Once || l.Has != nil {
			return by, err
		}
		l.Events.Waits(err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.After(LookEvery):
		}
	}
}

// pack predicts and packs a piece. An error ends the loop.
func (l *Loop[B]) pack(ctx context.Context, w work[B]) (work[B], error) {
	if w.err != nil {
		return w, nil
	}
	defer w.By.users.Done()
	w.send, w.n, w.err = l.Writer.Pack(ctx, w.Piece)
	w.Predict = nil // frees its rows while it waits
	if w.err != nil && l.ends(ctx, w.err) {
		return w, w.err
	}
	if w.Last {
		w.n.Units++
	}
	return w, nil
}

// A sending describes what was sent since the last commit.
type sending struct {
	Done

	any  bool     // whether anything was sent
	file DoneFile // of the last piece, with the counts of its pieces so far
	unit *unit    // of the last piece
}

// add notes that a piece of a unit was sent.
func (s *sending) add(from *unit, by string, n Counts, last bool) {
	if s.unit != from {
		s.unit, s.file = from, DoneFile{File: from.file}
	}
	s.any, s.By, s.Counts, s.file.Counts = true, by, s.Counts.Plus(n), s.file.Counts.Plus(n)
	if last && from.file != (File{}) {
		s.Files = append(s.Files, s.file)
	}
}

// deliver sends packed pieces, and commits them when Due says so and at the end.
func (l *Loop[B]) deliver(ctx context.Context, packed <-chan work[B]) error {
	var due sending
	var over <-chan time.Time
	commit := func() error {
		if over = nil; !due.any {
			return nil
		}
		if err := l.Writer.Commit(ctx); err != nil {
			return err
		}
		l.Events.Predicted(due.Done)
		due = sending{file: due.file, unit: due.unit}
		return nil
	}
	for {
		select {
		case p, more := <-packed:
			if !more {
				return commit()
			}
			if p.send != nil {
				if err := p.send(ctx); err != nil {
					return err
				}
			}
			if due.add(p.unit, p.By.ID, p.n, p.Last); over == nil && l.Due.Every > 0 {
				over = l.After(l.Due.Every)
			}
			if (!p.Pause || !l.Due.Pause) && due.Rows < l.Due.Rows {
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
