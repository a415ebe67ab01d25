package stream

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline"
)

// An earlyTrainer trains on the rows of a window before all of them are there.
type earlyTrainer interface {
	// Add makes the steps whose rows are there.
	Add(ctx context.Context, src pipeline.Source) error
}

// An earlyTraining is the training of the window that is open.
type earlyTraining struct {
	at      int64 // number of the window
	filled  int64 // number of the last full window
	failed  int64 // number of the last window whose early training failed
	trainer earlyTrainer
	release func() error // of the output of its checkpoint; nil while it is not held
}

// filling hears how the next window fills.
func (w *work) filling() Filling {
	told := Filling{Begins: w.Events.Fills}
	if w.arrives() {
		told.Early = w.offer
	}
	return told
}

// offer replaces the window that was offered before. Only one goroutine offers.
func (w *work) offer(open *Window) {
	select {
	case <-w.open:
	default:
	}
	w.open <- open
}

// end ends the early training of a full window, whose output others use from now on.
func (e *earlyTraining) end(n int64) error {
	e.filled = n
	return e.close()
}

func (e *earlyTraining) close() error {
	release := e.release
	if e.release, e.trainer = nil, nil; release == nil {
		return nil
	}
	return release()
}

// trainEarly makes the steps whose rows are there. If it fails, training waits for the full window.
func (w *work) trainEarly(ctx context.Context, open *Window) error {
	if open.N <= w.filled || open.N == w.failed {
		return nil
	}
	if w.trainer == nil || w.at != open.N {
		if err := w.begin(ctx, open); err != nil {
			return err
		}
	}
	src, err := w.Job.Open(ctx, open.Rows, nil, w.How.Resources, nil)
	if err == nil {
		err = w.trainer.Add(ctx, src)
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	w.notice(fmt.Sprintf("the window is trained when it is full, and not before: %v", err))
	w.failed = open.N
	return w.close()
}

// begin begins the training of another window.
func (w *work) begin(ctx context.Context, open *Window) error {
	ancestor, err := w.ancestor(ctx, w.Log, open)
	if err != nil {
		return err
	}
	if err := w.close(); err != nil {
		return err
	}
	digest, err := w.Job.Digest()
	if err != nil {
		return err
	}
	out := w.Folders.Folder(open.N).Output()
	if w.release, err = out.Hold(); err != nil {
		return err
	}
	env := pipeline.Environment{
		Checkpoints: out.Checkpoint(digest), Ancestor: ancestor, Resources: w.How.Resources,
		Observer: pipeline.Observer{Notice: w.notice, Progress: func(pipeline.Progress) { w.Events.Stepped() }},
	}
	w.at = open.N
	if w.early != nil {
		w.trainer = w.early(w.Job, env)
	} else {
		w.trainer = pipeline.NewEarlyTrainer(w.Job, env)
	}
	return nil
}
