package score_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// events are what a loop has reported.
type events struct {
	mu     sync.Mutex
	all    []string
	counts score.Counts
}

func (e *events) say(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, fmt.Sprintf(format, args...))
}

// Adopted notes a model.
func (e *events) Adopted(by *score.Predictor) { e.say("adopted %s", by.ID) }

// Waits notes why.
func (e *events) Waits(err error) { e.say("waits: %v", err) }

// Failed notes which.
func (e *events) Failed(err error) { e.say("failed: %v", err) }

// Predicted counts.
func (e *events) Predicted(what score.Done) {
	e.mu.Lock()
	e.counts = e.counts.Plus(what.Counts)
	e.mu.Unlock()
	for _, f := range what.Files {
		e.say("%s: %d rows", f.Name, f.Rows)
	}
}

func (e *events) said() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// ready takes every model.
func ready(context.Context, score.Artifact) (*pipeline.Ready, error) { return nil, nil }

// models are two that can replace each other, one of another subject and one of another column.
func models() *Pointers {
	p := &Pointers{}
	p.Put("one", nil, "x")
	p.Put("two", nil, "x")
	p.Put("other", []string{"rule"}, "x")
	p.Put("wide", nil, "x", "z")
	p.Move("one")
	return p
}

// A bench is a loop over files in memory.
type bench struct {
	pointers *Pointers
	files    *Files
	memory   *Memory
	events   *events
	warnings []string
}

func newBench(files ...string) *bench {
	return &bench{
		pointers: models(), files: &Files{Names: files, Rows: 10, Batch: 3, Columns: []string{"x"}}, memory: &Memory{}, events: &events{},
	}
}

// process begins a process.
func (b *bench) process(step func(string) error) (*score.Loop[Nothing], *score.Follower) {
	f := score.NewFollower(score.Config{Pointers: b.pointers, Ready: ready, Warning: func(text string) { b.warnings = append(b.warnings, text) }})
	w := b.memory.Open()
	w.Step = step
	return &score.Loop[Nothing]{
		Follower: f, Reader: b.files, Writer: w, Events: b.events, Has: w.Has, AtOnce: 3, Due: score.Due{Rows: 4, Every: time.Second}, Once: true, After: time.After,
	}, f
}

// whole demands that a loop comes to its end, with so many files that fail.
func whole(t *testing.T, l *score.Loop[Nothing], failures int) {
	t.Helper()
	if failed, err := l.Run(t.Context()); failed != failures || err != nil {
		t.Fatal(failed, err)
	}
}

// agree demands that each row of the files has one prediction, in order, and those of a file
// by so many models at most.
func (b *bench) agree(t *testing.T, models int, files ...string) {
	t.Helper()
	rows := b.memory.Rows()
	if len(rows) != len(files) {
		t.Errorf("%d files have predictions, want %d", len(rows), len(files))
	}
	for _, name := range files {
		by := map[string]bool{}
		for i, row := range rows[name] {
			if by[row.By] = true; row.Row != int64(i) {
				t.Errorf("%s: row %d at position %d", name, row.Row, i)
			}
		}
		if len(rows[name]) != b.files.Rows || len(by) > models {
			t.Errorf("%s: %d rows by %v", name, len(rows[name]), by)
		}
	}
}

// While the pointer moves with each piece, one model predicts each file, and both predict.
func TestModelsChangeBetweenUnitsOnly(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("file-%02d", i))
	}
	b := newBench(names...)
	moves := 0
	var mu sync.Mutex
	b.files.Before = func() {
		mu.Lock()
		defer mu.Unlock()
		moves++
		b.pointers.Move([]string{"one", "two"}[moves%2])
	}
	l, f := b.process(nil)
	defer f.Close()
	whole(t, l, 0)
	b.agree(t, 1, names...)
	by := map[string]int{}
	for _, rows := range b.memory.Rows() {
		by[rows[0].By]++
	}
	if len(by) != 2 || b.events.counts != (score.Counts{Rows: 400, Units: 40}) {
		t.Errorf("by %v, %+v", by, b.events.counts)
	}
}

// Ended at any step, whatever the process was at, and begun again, each row has one prediction.
func TestLoopEndedAndBegunAgain(t *testing.T) {
	files := []string{"a", "b", "c"}
	for at := 1; ; at++ {
		b := newBench(files...)
		steps, gone := 0, errors.New("gone")
		var mu sync.Mutex
		ctx, end := context.WithCancelCause(t.Context())
		l, f := b.process(func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if steps++; steps >= at {
				end(gone)
				return gone
			}
			return nil
		})
		_, err := l.Run(ctx)
		f.Close()
		ended := steps >= at
		if ended != (err != nil) {
			t.Fatalf("step %d of %d: %v", at, steps, err)
		}
		b.pointers.Move("two")
		l, f = b.process(nil)
		whole(t, l, 0)
		f.Close()
		if b.agree(t, 2, files...); t.Failed() {
			t.Fatalf("ended at step %d", at)
		}
		if end(nil); !ended {
			break
		}
	}
}

// A file that fails stops no other one, and of its rows those before the fault are sent, in
// order; the next call goes on behind them.
func TestFailingFileStopsNoOther(t *testing.T) {
	b := newBench("a", "b", "c")
	b.files.Bad = map[string]int{"b": 7}
	l, f := b.process(nil)
	defer f.Close()
	whole(t, l, 1)
	if rows := b.memory.Rows(); len(rows["a"]) != 10 || len(rows["b"]) != 6 || len(rows["c"]) != 10 {
		t.Errorf("%v", rows)
	}
	b.files.Bad = nil
	whole(t, l, 0)
	b.agree(t, 1, "a", "b", "c")
	want := []string{"adopted one", "a: 10 rows", "failed: b: row 7 cannot be read", "c: 10 rows", "b: 4 rows"}
	got := b.events.said()
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}

	// A piece that cannot be packed is one that fails; the pieces behind it are not sent.
	b = newBench("a", "b")
	packs := 0
	var mu sync.Mutex
	l, f = b.process(func(what string) error {
		mu.Lock()
		defer mu.Unlock()
		if what == "pack" {
			if packs++; packs == 2 {
				return errors.New("too large")
			}
		}
		return nil
	})
	l.AtOnce = 1
	defer f.Close()
	if failed, err := l.Run(t.Context()); failed != 1 || err != nil || len(b.memory.Rows()["a"]) != 3 || len(b.memory.Rows()["b"]) != 10 {
		t.Errorf("%d, %v, %v", failed, err, b.memory.Rows())
	}
}

// Of records, which do not come again, any failure ends the loop.
func TestRecordsThatFailEndTheLoop(t *testing.T) {
	b := newBench("a", "b")
	b.files.Bad = map[string]int{"a": 7}
	l, f := b.process(nil)
	defer f.Close()
	l.Has = nil
	if _, err := l.Run(t.Context()); err == nil || len(b.memory.Rows()["b"]) > 0 {
		t.Errorf("%v, %v", err, b.memory.Rows())
	}
}

// Once, no model is an error; else files wait for the next round, and records in this one.
func TestWaitsForAModel(t *testing.T) {
	b := newBench("a")
	b.pointers.Move("")
	l, f := b.process(nil)
	if _, err := l.Rounds(t.Context(), time.Minute); !errors.Is(err, score.ErrNoModel) || !strings.Contains(err.Error(), "nothing is current") {
		t.Error(err)
	}
	f.Close()
	for _, records := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench("a")
			b.pointers.Move("")
			l, f := b.process(nil)
			l.Once = false
			want := time.Minute
			if records {
				l.Has, want = nil, score.LookEvery
			}
			ctx, end := context.WithCancel(t.Context())
			begun, ended := time.Now(), make(chan error, 1)
			go func() { _, err := l.Rounds(ctx, time.Minute); ended <- err }()
			synctest.Wait()
			if said := b.events.said(); len(said) != 1 || !strings.HasPrefix(said[0], "waits: no prediction without a model") {
				t.Errorf("%q", said)
			}
			b.pointers.Move("one")
			for len(b.memory.Rows()["a"]) < 10 {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
			}
			if took := time.Since(begun); took < want || took > want+200*time.Millisecond {
				t.Errorf("records %v: predicted after %v, want %v", records, took, want)
			}
			end()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			f.Close()
		})
	}
}

// The pointer is followed also before rows come, to any subject, and then to a model with other columns if rows
// have them.
func TestModelsChangeWithoutRows(t *testing.T) {
	b := newBench()
	l, f := b.process(nil)
	defer f.Close()
	for _, id := range []string{"one", "other", "two", "wide", "wide"} {
		b.pointers.Move(id)
		if failed, err := l.Rounds(t.Context(), time.Minute); failed > 0 || err != nil {
			t.Fatal(failed, err)
		}
	}
	b.files.Names, b.files.Idle = []string{"a"}, func() { b.pointers.Move("one") }
	whole(t, l, 0)
	said := slices.DeleteFunc(b.events.said(), func(text string) bool { return text == "a: 10 rows" }) // at any time
	if diff := cmp.Diff([]string{"adopted one", "adopted other", "adopted two", "adopted one"}, said); diff != "" {
		t.Error(diff)
	}
	if len(b.warnings) != 2 || !strings.Contains(b.warnings[0], `it waits for rows with the column "z"`) || !strings.Contains(b.warnings[1], `a has no column "z"`) {
		t.Errorf("%q", b.warnings)
	}
}

// A slow is a reader whose pieces come at their times.
type slow struct {
	Files

	pauses map[int]time.Duration // before the piece that begins with this row
	pause  int                   // the piece behind which nothing is there
}

// Read hands on the files.
func (s *slow) Read(ctx context.Context, use func(score.Unit[Nothing]) error) error {
	return s.Files.Read(ctx, func(u score.Unit[Nothing]) error { return use(slowUnit{u, s}) })
}

type slowUnit struct {
	score.Unit[Nothing]
	of *slow
}

// Cut waits before its pieces.
func (u slowUnit) Cut(ctx context.Context, by *score.Predictor, next func(score.Piece[Nothing]) error) error {
	return u.Unit.Cut(ctx, by, func(p score.Piece[Nothing]) error {
		time.Sleep(u.of.pauses[int(p.First)])
		p.Pause = p.First == int64(u.of.pause)
		return next(p)
	})
}

// Predictions are committed after so many rows, so long after the first one, at a pause, and
// at the end.
func TestCommitsWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		r := &slow{Files: Files{Names: []string{"a"}, Rows: 20, Batch: 2, Columns: []string{"x"}}, pauses: map[int]time.Duration{8: 5 * time.Second}, pause: 12}
		var commits []string
		begun, sent := time.Now(), 0
		l, f := b.process(nil)
		w := b.memory.Open()
		w.Step = func(what string) error {
			switch what {
			case "send":
				sent += 2
			case "commit":
				commits = append(commits, fmt.Sprintf("%d rows, %v", sent, time.Since(begun)))
			}
			return nil
		}
		l.Reader, l.Writer, l.Has = r, w, nil
		l.Due = score.Due{Rows: 6, Pause: true, Every: time.Second}
		whole(t, l, 0)
		f.Close()
		// Six rows; two more and no others for a second; six, at row 12; six; and the end.
		want := []string{"6 rows, 0s", "8 rows, 1s", "14 rows, 5s", "20 rows, 5s"}
		if diff := cmp.Diff(want, commits); diff != "" {
			t.Error(diff)
		}
	})
}

// A writer's fault that may pass ends a round, and the next one goes on; any other one ends
// the loop.
func TestRoundsGoOnAfterWhatMayPass(t *testing.T) {
	for _, later := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench("a", "b")
			faults := 0
			fault := errors.New("no room")
			if later {
				fault = score.Later(fault)
			}
			l, f := b.process(func(what string) error {
				if what == "commit" && faults < 2 {
					faults++
					return fault
				}
				return nil
			})
			defer f.Close()
			l.Once = false
			ctx, end := context.WithTimeout(t.Context(), time.Hour)
			defer end()
			_, err := l.Rounds(ctx, time.Minute)
			if !later {
				if !errors.Is(err, fault) || faults != 1 {
					t.Errorf("%v after %d faults", err, faults)
				}
				return
			}
			if !errors.Is(err, context.DeadlineExceeded) || faults != 2 {
				t.Errorf("%v after %d faults", err, faults)
			}
		})
	}
}
