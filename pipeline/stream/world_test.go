package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// windowRows is how many rows a window has.
const windowRows = 40

// A world is a topic of one partition, a log and a disk in memory. What it has outlives the
// processes that stream; one that is killed changes nothing any more.
type world struct {
	mu        sync.Mutex
	topic     pipeline.TopicIdentity
	rows      int64         // of the topic
	more      chan struct{} // closed when there are more
	committed int64
	taken     int64
	published []certify.Certificate
	artifacts map[string]Artifact
	current   Pointer
	loose     bool // what a window gives is published in steps, not in one transaction
	disk
	saying

	steps, killAt int // changes so far, and the one that is made, or not any more, by half a process; 0: none
	after         bool
	inTraining    func() // if not nil, is called while a window is trained
}

// A disk is what a process finds again.
type disk struct {
	spools map[int64]*spool
	notes  map[int64]map[string][]byte
	store  *pipelinetest.Store
}

// A spool is the rows of a window.
type spool struct {
	of         pipeline.TopicIdentity
	first, end int64
	empty      bool
}

// saying is what was reported, of all processes.
type saying struct {
	said      []string
	filled    []int64 // numbers of windows
	certified int
}

func newWorld(rows int64) *world {
	return &world{topic: pipeline.TopicIdentity{Cluster: "cluster", Topic: "one"}, rows: rows, artifacts: map[string]Artifact{}, disk: newDisk()}
}

func newDisk() disk {
	return disk{map[int64]*spool{}, map[int64]map[string][]byte{}, &pipelinetest.Store{}}
}

var errKilled = errors.New("killed")

// change makes a change, unless the process is killed before it.
func (w *world) change(what func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps++
	if w.killAt > 0 && (w.steps > w.killAt || w.steps == w.killAt && !w.after) {
		return errKilled
	}
	err := what()
	if w.steps == w.killAt {
		return errors.Join(err, errKilled)
	}
	return err
}

// grow adds rows to the topic.
func (w *world) grow(rows int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows += rows
	if w.more != nil {
		close(w.more)
		w.more = make(chan struct{})
	}
}

// Fill consumes a window, a quarter at a time.
func (w *world) Fill(ctx context.Context, n int64, behind *Window, fills func(int64) func(int64)) (*Window, error) {
	w.mu.Lock()
	first := w.committed
	if behind != nil {
		first = behind.Partitions[0].End
	}
	s := w.spools[n]
	w.mu.Unlock()
	if s != nil && (s.first != first || s.of != w.topic) {
		return nil, ErrOther
	}
	if s == nil {
		s = &spool{of: w.topic, first: first, end: first}
		if err := w.change(func() error { w.spools[n] = s; return nil }); err != nil {
			return nil, err
		}
	}
	rows := fills(s.end - s.first)
	for s.end-s.first < windowRows {
		w.mu.Lock()
		more, there := w.more, min(w.rows-s.end, windowRows/4)
		w.mu.Unlock()
		if there < windowRows/4 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-more:
				continue
			}
		}
		if err := w.change(func() error { s.end += there; return nil }); err != nil {
			return nil, err
		}
		rows(s.end - s.first)
	}
	return w.window(n, *s), nil
}

func (w *world) window(n int64, s spool) *Window {
	g := dataset.Segment{Topic: "rows", First: s.first, End: s.end, Rows: s.end - s.first}
	if s.empty {
		g.Rows = 0
	}
	x := make([]float64, g.Rows)
	table, err := dataset.Columns([]string{"x", "y"}, [][]float64{x, x})
	if err != nil {
		panic(err)
	}
	return &Window{
		TopicWindow: pipeline.TopicWindow{Topic: "rows", Identity: s.of, Partitions: []pipeline.WindowPart{{First: s.first, End: s.end}}},
		N:           n, Segments: []dataset.Segment{g}, Rows: spooledRows{table, w, n, g},
	}
}

// Discard removes a spool.
func (w *world) Discard(n int64) error {
	return w.change(func() error { delete(w.spools, n); return nil })
}

type spooledRows struct {
	dataset.Rows
	of *world
	n  int64
	g  dataset.Segment
}

// Open opens the rows, as of one segment.
func (r spooledRows) Open(ctx context.Context, c dataset.Choice) (dataset.Opened, error) {
	c.Mark = false // a table has no rejected rows to mark
	return r.Rows.Open(ctx, c)
}

// Release removes the spool of a window that is published.
func (r spooledRows) Release(published bool) error {
	if !published {
		return nil
	}
	return r.of.Discard(r.n)
}

// TakeNumber takes a number.
func (w *world) TakeNumber(context.Context) (k int64, err error) {
	return k, w.change(func() error { w.taken++; k = w.taken; return nil })
}

// Current is the pointer.
func (w *world) Current(context.Context) (Pointer, error) {
	if w.current.ID == "" {
		return Pointer{}, fmt.Errorf("the pointer: %w", ErrNotFound)
	}
	return w.current, nil
}

// Pull reads an artifact.
func (w *world) Pull(_ context.Context, id string) (Artifact, error) {
	a, ok := w.artifacts[id]
	if !ok {
		return a, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return a, nil
}

// Locations is the one that there is.
func (w *world) Locations(context.Context, *Window) ([]Location, error) {
	return []Location{{"name", w.current}}, nil
}

// modelOf is the model of a number, modelText stands for its bytes on topics.
func modelOf(k int64) pass.Model { return pipelinetest.SmallModel(1 / float64(k+1)) }

func modelText(k int64) []byte { return fmt.Append(nil, k) }

// digestOf is the digest of the model of a number.
func digestOf(k int64) string {
	sum, err := (&pipelinetest.Store{}).PutModel(context.Background(), modelOf(k))
	if err != nil {
		panic(err)
	}
	return sum
}

// Left are the folders that are there.
func (w *world) Left() ([]int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := map[int64]bool{}
	for n := range w.spools {
		left[n] = true
	}
	for n := range w.notes {
		left[n] = true
	}
	return slices.Sorted(maps.Keys(left)), nil
}

// train stands for a training: it publishes a certificate that says what it was made of.
func (w *world) train(ctx context.Context, job job.Job, rows dataset.Rows, out pipeline.Output, how pipeline.RunConfig) (*pipeline.Outcome, error) {
	of, k := rows.(spooledRows), job.Numbering.Number
	if w.inTraining != nil {
		w.inTraining()
	}
	sum, err := out.PutModel(ctx, modelOf(k))
	if err != nil {
		return nil, err
	}
	c := certificateOf(job.Numbering, sum, of.g, how.Parent)
	id, err := out.PutCertificate(ctx, c)
	if err != nil {
		return nil, err
	}
	if how.Certified != "" && how.Certified != id {
		return nil, errors.New("another certificate")
	}
	o := &pipeline.Outcome{Result: &pipeline.Result{ArtifactRef: pipeline.ArtifactRef{ID: id, Model: sum}, Certificate: c}}
	if err := how.Publisher.Publish(ctx, o.Result, nil); err != nil {
		return nil, err
	}
	r, err := pipeline.NewRun(out, id[:12], job, time.Now(), nil)
	if err != nil {
		return nil, err
	}
	r.State, r.Exit, r.Artifacts = pipeline.StateFinished, new(int), []pipeline.ArtifactRef{{ID: id, Model: sum}}
	how.Conclude(ctx, r, o, nil)
	if err := out.PutRun(r); err != nil {
		return nil, err
	}
	return o, errors.Join(out.Retain(2), rows.Release(true))
}

// certificateOf is one of a window.
func certificateOf(at *certify.Sequence, model string, segment dataset.Segment, parent *fit.Parent) certify.Certificate {
	c := pipelinetest.SmallCertificate(model, "test")
	c.Delta.Sequence, c.Sample.Segments = at, []certify.Segment{segment}
	if parent != nil {
		c.Publisher.Training.Parent = &parent.Parent
	}
	return c
}

func (w *world) Fills(int64) func(int64) { return func(int64) {} }

func (w *world) Filled(window *Window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.filled = append(w.filled, window.N)
}

// A teller hears of what was published.
type teller struct{ *world }

func (t teller) Published(*Window, certify.Certificate, certify.Status) { t.certified++ }

// stream is a process of this world.
func (w *world) stream(t *testing.T, change func(*Stream)) *Stream {
	t.Helper()
	j, err := job.Job{
		Features: []string{"x"}, Target: "y", Loss: job.LossDecl{Epsilon: 0.5}, Delta: 0.01, Repeated: true,
	}.WithDefaults()
	fatal.If(t, err)
	j.Train.WarmStart = true
	say := func(text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, text)
	}
	s := &Stream{
		Job: j, Name: "rows/trainers", Topic: "rows", Software: "test", Folders: w, Events: teller{w}, Train: w.train,
		How: pipeline.RunConfig{Observer: job.Observer{Warning: say, Event: say}},
	}
	if change != nil {
		change(s)
	}
	return s
}

// process streams until nothing goes on any more. The error is nil if it waits for rows then.
func (w *world) process(t *testing.T, change func(*Stream), more ...func()) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.more = make(chan struct{}) // of this bubble
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		s := w.stream(t, change)
		go func() { ended <- s.Run(ctx, w, w) }()
		for _, next := range append(more, func() {}) {
			time.Sleep(time.Minute)
			synctest.Wait()
			next()
		}
		defer func() { w.more = nil }()
		select {
		case err = <-ended:
			stop()
		default:
			stop()
			if got := <-ended; !errors.Is(got, context.Canceled) {
				t.Errorf("stopped, it says %v", got)
			}
		}
	})
	return err
}

// says reports whether a text was said.
func (w *world) says(text string) bool {
	return slices.ContainsFunc(w.said, func(said string) bool { return strings.Contains(said, text) })
}

// each checks that so many windows follow one another, each with a number of its own that is
// larger than those before.
func (w *world) each(t *testing.T, windows int) {
	t.Helper()
	end, number := int64(0), int64(0)
	for i, c := range w.published {
		g, k := c.Sample.Segments[0], c.Delta.Sequence.Number
		if g.First != end || k <= number {
			t.Errorf("certificate %d has the number %d behind %d, of rows from %d behind %d", i, k, number, g.First, end)
		}
		if a := c.Publisher.Training.Parent; a != nil && a.HasSeen(c.Sample.Segments) {
			t.Errorf("certificate %d begins with a model that has seen its rows: %+v", i, a)
		}
		end, number = g.End, k
	}
	if len(w.published) != windows || w.committed != end {
		t.Errorf("%d certificates, the group is at %d and they end at %d, want %d windows", len(w.published), w.committed, end, windows)
	}
}
