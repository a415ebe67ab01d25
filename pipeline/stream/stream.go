package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A Stream makes a certificate of each window of a topic. All fields are needed.
type Stream struct {
	Job      job.Job // with its defaults, under a policy of delta, without a number
	Name     string  // of the sequence of its certificates
	Topic    string
	Software string             // on which the bytes of a certificate depend, next to job and rows
	How      pipeline.RunConfig // without Parent, Publisher, Certified and Conclude
	Folders  Folders
	Events   Events
	Promote  watch.Promotion

	// Train runs the job of a window, as [pipeline.Train] does.
	Train func(ctx context.Context, job job.Job, rows dataset.Rows, out pipeline.Output, how pipeline.RunConfig) (*pipeline.Outcome, error)
}

// Run works on the windows and the log of a member, while it has the same partitions: until ctx is done or an
// error that no retry mends. Overtaken windows are filled again.
func (s *Stream) Run(ctx context.Context, windows Windows, log Log) error {
	for {
		err := s.windows(ctx, windows, log)
		if ctx.Err() != nil || !errors.Is(err, ErrOvertaken) {
			return err
		}
		s.How.Observer.ReportWarning(fmt.Sprintf("%v: the spooled rows are dropped, and reading goes on behind the published ones", err))
	}
}

// manyWindows bounds the number of full windows that wait: more than a disk has room for.
const manyWindows = 1 << 16

// windows fills and certifies windows, from the group's location on.
func (s *Stream) windows(ctx context.Context, windows Windows, log Log) error {
	out := s.Folders.Output(0) // points to what is current, as it was left by the process that had the partitions before
	if _, err := pipeline.Holding(out, func() (Pointer, error) { return s.point(ctx, log, out) }); err != nil {
		return err
	}
	both, ctx := errgroup.WithContext(ctx)
	w := &work{Stream: s, rows: windows, log: log, full: make(chan *Window, manyWindows)}
	both.Go(func() error { return w.fill(ctx) })
	both.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case full := <-w.full:
				if err := w.certify(ctx, full); err != nil {
					return err
				}
			}
		}
	})
	return both.Wait()
}

// point points the output to what is current on the log, by whatever, and returns it; the pointer is zero if
// nothing is, or it cannot be used.
func (s *Stream) point(ctx context.Context, log Log, out pipeline.Output) (Pointer, error) {
	pointer, _, err := s.follow(ctx, log, out)
	if unfit, ok := errors.AsType[unfitError](err); ok {
		s.How.Observer.ReportWarning(unfit.Error())
		return Pointer{}, nil
	}
	return pointer, err
}

// A work is the work of two goroutines in a session, until they are overtaken.
type work struct {
	*Stream
	rows Windows
	log  Log

	full chan *Window
}

// fill fills one window after the other, and resumes windows of an earlier process unless another
// member has certified their rows.
func (w *work) fill(ctx context.Context) error {
	left, err := w.Folders.Left()
	if err != nil {
		return err
	}
	n := int64(1)
	if len(left) > 0 {
		n = left[0]
	}
	var behind *Window
	for ; ; n++ {
		window, err := w.rows.Fill(ctx, n, behind, w.Events.Fills)
		if errors.Is(err, ErrOther) {
			if err = w.discard(left, n); err == nil {
				window, err = w.rows.Fill(ctx, n, behind, w.Events.Fills)
			}
		}
		if err != nil {
			return err
		}
		w.Events.Filled(window)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case w.full <- window:
			behind = window
		}
	}
}

// discard removes what is left of windows from the number n on.
func (w *work) discard(left []int64, from int64) error {
	for _, n := range left {
		if n < from {
			continue
		}
		if err := errors.Join(w.rows.Discard(n), w.Folders.Folder(n).Remove()); err != nil {
			return err
		}
	}
	return nil
}

// certify makes the artifact of a window and publishes it.
func (w *work) certify(ctx context.Context, full *Window) (err error) {
	folder, publisher := w.Folders.Folder(full.N), w.log.Publisher(full)
	if full.Count() == 0 { // it has no records
		if err := publisher.Publish(ctx, nil, nil); err != nil {
			return err
		}
		return errors.Join(full.Rows.Release(true), folder.Remove())
	}
	out := w.Folders.Output(full.N)
	release, err := out.Hold()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	current, err := w.point(ctx, w.log, out) // it may have been promoted by hand
	if err != nil {
		return err
	}
	if unknown := (pipeline.TopicIdentity{}); current.Of != full.Of && current.Of != unknown && full.Of != unknown {
		return fmt.Errorf("topic %q is another one than that of certificate %s, which is current: it was made again, or is on another cluster, and the same offsets would be in two certificates (hint: choose another source.kafka.group, publish.kafka.name and output)", w.Topic, current.ID)
	}
	reserved, err := w.reserve(ctx, w.log, full, out)
	if err != nil {
		return err
	}
	k, how := reserved.Number, w.How
	numbers, err := out.Numbered(ctx, w.Name)
	if err != nil {
		return err
	}
	decides := &deciding{publisher, w, full, out, ""}
	how.Parent, how.Publisher, how.Certified = reserved.from, decides, numbers[k] // by a process that was killed
	how.Conclude = func(_ context.Context, r *pipeline.RunState, o *pipeline.Outcome, _ error) {
		if o != nil && *r.Exit == 0 && decides.why == "" {
			if err := pipeline.PointTo(out, o.Result.Certificate, r.Artifacts[0], w.How.Required, time.Now()); err != nil {
				w.How.Observer.ReportWarning(err.Error()) // the topics have the pointer, which the next window follows
			}
		}
	}
	w.How.Observer.ReportEvent(fmt.Sprintf("window of %s: certificate number %d", words.Count(full.Count(), "row"), k))
	o, err := w.Train(ctx, w.Job.Numbered(w.Name, k), full.Rows, out, how)
	if err != nil {
		return untrained(ctx, full, k, err)
	}
	w.tell(full, k, o, decides.why)
	return folder.Remove()
}

// untrained is the fault of a window. Rows that cannot be trained stop the stream for good.
func untrained(ctx context.Context, full *Window, k int64, fault error) error {
	fault = fmt.Errorf("window of certificate number %d, %s: %w", k, full.offsets(), fault)
	if ctx.Err() != nil || !fit.Untrainable(fault) {
		return fault
	}
	return fmt.Errorf("%w\nhint: to leave these rows out, set %s while the stream is stopped", fault, full.after())
}

// tell says what was published of a window.
func (s *Stream) tell(w *Window, k int64, o *pipeline.Outcome, why string) {
	current := "it is current"
	if why != "" {
		current = "it is not current: " + why
	}
	if verdict := s.How.Verdict(o.Result.Certificate); verdict != nil {
		current = "it is not current: " + verdict.Error()
	}
	if bad := o.Result.Certificate.Counts.Rejected; bad > 0 {
		s.How.Observer.ReportWarning(words.Count(bad, "rejected row") + " of the window are left out")
	}
	s.How.Observer.ReportEvent(fmt.Sprintf("published certificate %s of run %d: predictions have the bound %s (%s); %s", o.Record.ID, k, words.PercentUp(o.Record.Mean.Bound), o.Record.Mean.Status, current))
	s.Events.Published(w, o.Result.Certificate, o.Record.Status)
}

// A deciding publisher decides where the certificate of a window becomes current.
type deciding struct {
	Publisher

	work *work
	full *Window
	out  pipeline.Output
	why  string // why it does not at some location; "": it does
}

// Publish publishes the result of a window, and moves the pointers that it replaces.
func (d *deciding) Publish(ctx context.Context, r *pipeline.Result, verdict error) error {
	var points []string
	if verdict == nil {
		locations, err := d.work.log.Locations(ctx, d.full)
		if err != nil {
			return err
		}
		for _, at := range locations {
			why, err := d.stays(ctx, at, r)
			if err != nil {
				return err
			}
			if d.why = cmp.Or(d.why, why); why == "" {
				points = append(points, at.Name)
			}
		}
	}
	return d.Publisher.Publish(ctx, r, points)
}

// stays says why a result does not replace the certificate that is current at a location; "": it does.
func (d *deciding) stays(ctx context.Context, at Location, r *pipeline.Result) (why string, err error) {
	w := d.work
	if w.Promote.Within == 0 || at.Current.ID == "" || at.Current.Of != d.full.Of {
		return "", nil
	}
	current, err := w.certificate(ctx, w.log, d.out, at.Current.ID)
	if unfit, ok := errors.AsType[unfitError](err); ok {
		w.How.Observer.ReportWarning(fmt.Sprintf("certificate %.12s…, which is current, is compared with no other: %v", at.Current.ID, unfit))
		return "", nil
	}
	if err != nil {
		return "", err
	}
	decision, err := w.Promote.Decide(current, r.Certificate, w.How.Required)
	if decision.Moves {
		return "", err
	}
	return decision.Why, err
}
