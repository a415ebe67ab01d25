package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// rounds is in how many parts the rows of a window become visible to a training that
// begins before all are there: what it makes of the last part is left when the window is
// full, and each part is a file a partition.
const rounds = 16

// An openWindow is what is stored of a window that is not full.
type openWindow struct {
	serial int64
	folder string
	window *kafkalog.Window
}

// An ahead is the training of the window that comes next, while its rows arrive.
type ahead struct {
	rows   chan openWindow // the latest, if nobody has taken it
	serial int64           // of the window at work
	done   int64           // serial of the last one that is full
	failed int64           // serial of the last one that cannot be trained ahead
	of     *pipeline.Ahead
	dir    *sinklake.Directory // of its checkpoint; nil: there is none
}

// offer replaces what was offered before. One goroutine offers.
func (a *ahead) offer(w openWindow) {
	select {
	case <-a.rows:
	default:
	}
	a.rows <- w
}

// end says that a window is full: others write to its folder from here on.
func (a *ahead) end(serial int64) error {
	a.done = serial
	return a.close()
}

func (a *ahead) close() error {
	dir := a.dir
	if a.dir, a.of = nil, nil; dir == nil {
		return nil
	}
	return dir.Close()
}

// begin begins with another window.
func (a *ahead) begin(s *service, w openWindow, from *pipeline.Ancestor) error {
	if err := a.close(); err != nil {
		return err
	}
	digest, err := s.Job.Digest()
	if err != nil {
		return err
	}
	if a.dir, err = sinklake.Open(w.folder, s.w.fs); err != nil {
		return err
	}
	// Nobody is told of the bound before the window has its number.
	observer := pipeline.Observer{Notice: s.show.notice, Progress: func(pipeline.Progress) { s.metrics.steps.Inc() }}
	a.serial, a.of = w.serial, pipeline.NewAhead(s.Job, pipeline.Environment{
		Checkpoints: a.dir.Checkpoint(digest.String()), Ancestor: from, Resources: s.Resources, Observer: observer,
	})
	return nil
}

// work trains and certifies one window after the other. One that has all its rows goes
// before one that has not.
func (s *service) work(ctx context.Context, t tenure, frozen <-chan frozenWindow) (err error) {
	defer func() { err = errors.Join(err, s.ahead.close()) }()
	for {
		select {
		case f := <-frozen:
			err = s.certify(ctx, t, f)
		default:
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case f := <-frozen:
				err = s.certify(ctx, t, f)
			case w := <-s.ahead.rows:
				err = s.trainAhead(ctx, t, w)
			}
		}
		if err != nil {
			return err
		}
	}
}

// trainAhead makes the steps for which the rows are there. Where that fails the window is
// trained when it is full.
func (s *service) trainAhead(ctx context.Context, t tenure, w openWindow) error {
	a := &s.ahead
	if w.serial <= a.done || w.serial == a.failed {
		return nil
	}
	if a.of == nil || a.serial != w.serial {
		from, warm, err := s.ancestor(ctx, t, w.folder, w.window)
		if err != nil {
			return err
		}
		var ancestor *pipeline.Ancestor
		if warm {
			ancestor = &from
		}
		if err := a.begin(s, w, ancestor); err != nil {
			return err
		}
	}
	src, err := w.window.Open(ctx, ingestlake.Config{
		Features: s.Job.Features, Target: s.Job.Target, BadRows: ingest.Marking(s.Job.BadRows.Some()), Decoders: s.Resources.Workers,
	})
	if err == nil {
		err = a.of.Add(ctx, src)
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	s.show.notice(fmt.Sprintf("the window is trained when it is full, and not before: %v", err))
	a.failed = w.serial
	return a.close()
}
