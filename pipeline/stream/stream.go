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

// A Stream makes a certificate for each window of a topic. All fields are required.
type Stream struct {
	Job      job.Job // of a sequence, with its defaults filled in, without a number
	Name     string  // of the sequence of certificates
	Topic    string
	Software string             // version of the program, on which the bytes of certificates depend
	How      pipeline.RunConfig // without Parent, Publisher, Certified and Conclude
	Folders  Folders
	Events   Events
	Promote  watch.Promotion

	// Train runs the job of a window, as [pipeline.Train] does.
	Train func(ctx context.Context, job job.Job, rows dataset.Rows, out pipeline.Output, how pipeline.RunConfig) (*pipeline.Outcome, error)
}

// Run fills, certifies and publishes the windows of a member until ctx is done or an error occurs. After
// [ErrOvertaken] it continues after the published rows, unless it has certified no window since the last one.
func (s *Stream) Run(ctx context.Context, windows Windows, log Log) error {
	for again := false; ; again = true {
		certified, err := s.windows(ctx, windows, log)
		if ctx.Err() != nil || !errors.Is(err, ErrOvertaken) || again && certified == 0 {
			return err
		}
		s.How.Observer.ReportWarning(fmt.Sprintf("%v: the spooled rows are dropped, and reading goes on behind the published ones", err))
	}
}

// manyWindows is the largest number of full windows that wait, more than a disk has room for.
const manyWindows = 1 << 16

// windows fills and certifies windows, from the group's offsets on, and returns how many it has certified.
func (s *Stream) windows(ctx context.Context, windows Windows, log Log) (certified int, err error) {
	out := s.Folders.Output() // its pointer may be behind that of the member that had the partitions before
	if _, err := pipeline.Holding(out, func() (Pointer, error) { return s.point(ctx, log, out) }); err != nil {
		return 0, err
	}
	both, ctx := errgroup.WithContext(ctx)
	w := &work{Stream: s, rows: windows, log: log, full: make(chan *Window, manyWindows)}
	both.Go(func() error { return w.fill(ctx) })
	both.Go(func() error {
		for ; ; certified++ {
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
	err = both.Wait()
	return certified, err
}

// point moves the output's pointer to what is current on the log and returns it. The pointer is zero if nothing is
// current or the current artifact cannot be used.
func (s *Stream) point(ctx context.Context, log Log, out pipeline.Output) (Pointer, error) {
	pointer, _, err := s.follow(ctx, log, out)
	if unfit, ok := errors.AsType[unfitError](err); ok {
		s.How.Observer.ReportWarning(unfit.Error())
		return Pointer{}, nil
	}
	return pointer, err
}

// A work is shared by the goroutine that fills windows and the one that certifies them.
type work struct {
	*Stream
	rows Windows
	log  Log

	full chan *Window
}

// fill fills one window after the other. It resumes windows of an earlier process, unless another member has certified
// their rows.
func (w *work) fill(ctx context.Context) error {
	left, err := w.Folders.Left()
	if err != nil {
		return err
	}
	var behind *Window
	for n := append(left, 1)[0]; ; n++ {
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

// discard removes the rows and folders of those windows in left whose number is at least from.
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

// certify trains on a window and publishes the artifact.
func (w *work) certify(ctx context.Context, full *Window) (err error) {
	folder, publisher := w.Folders.Folder(full.N), w.log.Publisher(full)
	if full.Count() == 0 { // it has no records
		if err := publisher.Publish(ctx, nil, nil); err != nil {
			return err
		}
		return errors.Join(full.Rows.Release(true), folder.Remove())
	}
	out := w.Folders.Output()
	release, err := out.Hold()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	current, err := w.point(ctx, w.log, out) // a certificate may have been promoted by hand
	if err != nil {
		return err
	}
	if unknown := (pipeline.TopicIdentity{}); current.Of != full.Identity && current.Of != unknown && full.Identity != unknown {
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
	how.Parent, how.Publisher, how.Certified = reserved.from, decides, numbers[k] // Certified: by a process that was killed
	how.Conclude = func(_ context.Context, r *pipeline.RunState, o *pipeline.Outcome, _ error) {
		if o != nil && *r.Exit == 0 && decides.why == "" {
			if err := pipeline.PointTo(out, o.Result.Certificate, r.Artifacts[0], w.How.Required, time.Now()); err != nil {
				w.How.Observer.ReportWarning(err.Error()) // the pointer on the log has moved, and the next window follows it
			}
		}
	}
	w.How.Observer.ReportEvent(fmt.Sprintf("window of %s: certificate number %d", words.Count(full.Count(), "row"), k))
	o, err := w.Train(ctx, w.Job.Numbered(w.Name, k), full.Rows, out, how)
	if err != nil {
		return untrained(ctx, full, k, err)
	}
	w.reportPublished(full, k, o, decides.why)
	return folder.Remove()
}

// untrained returns the error of a window. If its rows cannot be trained on, a retry would fail too, so that a hint
// says how to skip them.
func untrained(ctx context.Context, full *Window, k int64, fault error) error {
	fault = fmt.Errorf("window of certificate number %d, %s: %w", k, full.offsets(), fault)
	if ctx.Err() != nil || !fit.Untrainable(fault) {
		return fault
	}
	return fmt.Errorf("%w\nhint: to leave these rows out, set %s while the stream is stopped", fault, full.after())
}

// reportPublished reports what was published for a window. why says why it is not current; "" if it is.
func (s *Stream) reportPublished(w *Window, k int64, o *pipeline.Outcome, why string) {
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
	_, bound := pipeline.Worth(o.Result.Certificate, "")
	s.How.Observer.ReportEvent(fmt.Sprintf("published certificate %s of run %d: predictions have the bound %s (%s); %s", o.Record.ID, k, bound, o.Record.Mean.Status, current))
	s.Events.Published(w, o.Result.Certificate, o.Record.Status)
}

// A deciding is a Publisher that decides at which locations the certificate of a window becomes current.
type deciding struct {
	Publisher

	work *work
	full *Window
	out  pipeline.Output
	why  string // why it does not become current at some location, or ""
}

// Publish publishes the result of a window, and moves the pointers of the locations where it becomes current.
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

// stays returns why a result does not replace the current certificate at a location, or "" if it does.
func (d *deciding) stays(ctx context.Context, at Location, r *pipeline.Result) (why string, err error) {
	w := d.work
	if w.Promote.Within == 0 || at.Current.ID == "" || at.Current.Of != d.full.Identity {
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
