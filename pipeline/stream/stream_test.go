package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// TestWindowsFollowOneAnother: windows of one process, and of the next, follow one another, and
// each begins with the model of the one before, from this disk or from the log.
func TestWindowsFollowOneAnother(t *testing.T) {
	w := newWorld(3*windowRows - 5)
	fatal.If(t, w.process(t, nil))
	w.each(t, 2)
	w.grow(windowRows)
	fatal.If(t, w.process(t, nil, func() { w.grow(windowRows) }))
	w.each(t, 4)
	w.disk = newDisk()
	w.grow(windowRows)
	fatal.If(t, w.process(t, nil))
	w.each(t, 5)
	for i, c := range w.published {
		if a := c.Publisher.Training.Parent; i == 0 && a != nil || i > 0 && (a == nil || a.Model != digestOf(int64(i))) {
			t.Errorf("window %d begins with %+v", i+1, a)
		}
	}
	if w.certified != 5 || !w.says(" of run 5: predictions have the bound ") {
		t.Errorf("it reported %d certificates: %q", w.certified, w.said)
	}
}

// TestStreamKilledAtEachChange: a process is killed before each change that it makes, or behind
// it, also where results are published in steps. The next one, on its disk or on an empty one, puts
// every row into one certificate, the last of which is current, and gives no number twice.
func TestStreamKilledAtEachChange(t *testing.T) {
	for at := 1; ; at++ {
		ended := false
		for _, how := range []struct{ after, lost, loose bool }{{}, {after: true}, {after: true, lost: true}, {loose: true}, {after: true, loose: true}} {
			w := newWorld(3*windowRows + 5)
			w.killAt, w.after, w.loose = at, how.after, how.loose
			err := w.process(t, nil)
			ended = err == nil
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatalf("killed at %d %+v, it says %v", at, how, err)
			}
			w.killAt = 0
			if how.lost {
				w.disk = newDisk()
			}
			if err := w.process(t, nil); err != nil {
				t.Fatalf("killed at %d %+v, the next one says %v", at, how, err)
			}
			w.each(t, 3)
			if p, err := w.store.Current(); err != nil || p == nil || p.ID != w.current.ID || p.Model != digestOf(w.published[2].Delta.Sequence.Number) {
				t.Errorf("the last certificate is not current: %+v, %v", p, err)
			}
			if t.Failed() {
				t.Fatalf("killed at %d %+v: %q", at, how, w.said)
			}
		}
		if ended {
			if at < 20 {
				t.Errorf("three windows take %d changes", at)
			}
			return
		}
	}
}

// TestWindowsThatOthersCertified: what was spooled is left where another member has certified
// its rows meanwhile.
func TestWindowsThatOthersCertified(t *testing.T) {
	w := newWorld(2 * windowRows)
	fault := errors.New("it does not train")
	if err := w.process(t, func(s *Stream) {
		s.Train = func(_ context.Context, _ job.Job, _ dataset.Rows, _ pipeline.Output, _ pipeline.RunConfig) (*pipeline.Outcome, error) {
			time.Sleep(time.Second) // until the second window is spooled too
			return nil, fault
		}
	}); !errors.Is(err, fault) {
		t.Fatalf("it says %v", err)
	}
	if len(w.spools) < 2 {
		t.Fatalf("%d windows are left", len(w.spools))
	}
	w.committed = 10
	w.grow(10)
	fatal.If(t, w.process(t, nil))
	if g := w.published[0].Sample.Segments[0]; len(w.published) != 2 || g.First != 10 || w.committed != 90 {
		t.Errorf("%d certificates, the first from %d, the group is at %d", len(w.published), g.First, w.committed)
	}
}

// TestOvertaken: a window that somebody else publishes while it is trained is spooled again from
// where the group has come to. If that happens each time, it ends the stream.
func TestOvertaken(t *testing.T) {
	w := newWorld(3 * windowRows)
	w.inTraining = func() { _ = w.change(func() error { w.committed = max(w.committed, 20); return nil }) } // while the next window is filled
	fatal.If(t, w.process(t, nil))
	if g := w.published[0].Sample.Segments[0]; len(w.published) != 2 || g.First != 20 || !w.says("goes on behind the published ones") {
		t.Errorf("%d certificates, the first from %d: %q", len(w.published), g.First, w.said)
	}
	w.grow(9 * windowRows)
	w.inTraining = func() { _ = w.change(func() error { w.committed++; return nil }) }
	if err := w.process(t, nil); !errors.Is(err, ErrOvertaken) || len(w.published) != 2 {
		t.Errorf("overtaken each time, it says %v, and has published %d windows", err, len(w.published))
	}
}

// TestLostPartitions: nothing is published once the partitions of a member are those of others.
func TestLostPartitions(t *testing.T) {
	w, lost := newWorld(2*windowRows), errors.New("lost")
	ctx, lose := context.WithCancelCause(t.Context())
	w.inTraining = func() { lose(lost) }
	if err := w.stream(t, nil).Run(ctx, w, w); err == nil || len(w.published) > 0 || !errors.Is(context.Cause(ctx), lost) {
		t.Errorf("it says %v, and has published %d windows", err, len(w.published))
	}
}

// TestWindowWithoutRows: of a window without rows only the offsets are published; it takes no
// number, and leaves nothing.
func TestWindowWithoutRows(t *testing.T) {
	w := newWorld(2 * windowRows)
	w.spools[7] = &spool{of: w.topic, end: windowRows, empty: true}
	fatal.If(t, w.process(t, nil))
	if len(w.published) != 1 || w.published[0].Sample.Segments[0].First != windowRows || w.taken != 1 || w.spools[7] != nil {
		t.Errorf("%d certificates, %d numbers, %v is left", len(w.published), w.taken, w.spools)
	}
}

// TestWindowThatCannotBeTrained: it ends the stream, with its number and offsets, and the reason says
// what to do if the rows are at fault.
func TestWindowThatCannotBeTrained(t *testing.T) {
	for fault, rowsAreAtFault := range map[error]bool{fmt.Errorf("training: %w", job.ErrData): true, model.ErrNotPositiveDefinite: true, errors.New("disk"): false} {
		w := newWorld(3 * windowRows)
		err := w.process(t, func(s *Stream) {
			s.Train = func(ctx context.Context, job job.Job, rows dataset.Rows, out pipeline.Output, how pipeline.RunConfig) (*pipeline.Outcome, error) {
				if rows.(spooledRows).g.First == windowRows {
					return nil, fault
				}
				return w.train(ctx, job, rows, out, how)
			}
		})
		where := fmt.Sprintf("window of certificate number 2, partition 0 offsets %d to %d: ", windowRows, 2*windowRows-1)
		if !errors.Is(err, fault) || !strings.Contains(err.Error(), where) || strings.Contains(err.Error(), "hint") != rowsAreAtFault || len(w.published) != 1 {
			t.Errorf("%v: %v, %d certificates", fault, err, len(w.published))
		}
	}
}

// TestNumbersBelongToJobs: the number of a window is noted before it is trained. The same job
// resumes with it; another job, or another program, takes another one.
func TestNumbersBelongToJobs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Stream)
		number int64
	}{
		"the same":        {nil, 1},
		"another job":     {func(s *Stream) { s.Job.Loss.Epsilon = 0.75 }, 2},
		"another program": {func(s *Stream) { s.Software = "later" }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(windowRows)
			fault := errors.New("it does not train")
			err := w.process(t, func(s *Stream) {
				s.Train = func(_ context.Context, job job.Job, _ dataset.Rows, _ pipeline.Output, _ pipeline.RunConfig) (*pipeline.Outcome, error) {
					if text := string(w.notes[1][windowNote]); text == "" || job.Numbering.Number != 1 {
						t.Errorf("certificate %d is trained, and %q is noted", job.Numbering.Number, text)
					}
					return nil, fault
				}
			})
			if !errors.Is(err, fault) {
				t.Fatalf("it says %v", err)
			}
			fatal.If(t, w.process(t, c.change))
			if got := w.published[0].Delta.Sequence.Number; got != c.number {
				t.Errorf("the window has number %d, want %d", got, c.number)
			}
		})
	}
}

// TestNumbersBelongToSegments: a window does not take the number that its folder holds if that
// was taken for other rows.
func TestNumbersBelongToSegments(t *testing.T) {
	w := newWorld(windowRows)
	if err := w.process(t, func(s *Stream) {
		s.Folders = kept{w} // as if it was killed then
	}); !errors.Is(err, errKilled) {
		t.Fatalf("it says %v", err)
	}
	w.grow(windowRows)
	fatal.If(t, w.process(t, nil))
	w.each(t, 2)
}

// kept are folders that are never removed.
type kept struct{ *world }

func (k kept) Folder(n int64) Folder { return keptFolder{folder{k.world, n}} }

type keptFolder struct{ folder }

func (keptFolder) Remove() error { return errKilled }

// TestParent: a window begins with what is current, unless that may have seen rows of it, or is of
// another stream, or cannot be had; and keeps what was noted for it.
func TestParent(t *testing.T) {
	again := func(text string) map[bool]string { return map[bool]string{false: "training begins again: " + text} }
	with := map[bool]string{true: ""}
	for name, c := range map[string]struct {
		change func(w *world)
		want   map[bool]string // whether there is one, and what is said
	}{
		"from this disk":     {func(*world) {}, with},
		"from the log":       {func(w *world) { w.disk = newDisk() }, with},
		"nothing is current": {func(w *world) { w.current = Pointer{} }, map[bool]string{false: ""}},
		"not there any more": {func(w *world) { w.disk, w.artifacts = newDisk(), map[string]Artifact{} }, again("")},
		"of a topic unknown": {func(w *world) { w.current.Of = pipeline.TopicIdentity{} }, again("rows of this window may have trained")},
		"has seen the rows":  {func(w *world) { w.committed = 0 }, again("the model of certificate")},
		"another model": {func(w *world) {
			w.disk, w.artifacts[w.current.ID] = newDisk(), Artifact{Document: w.artifacts[w.current.ID].Document, Model: modelText(9)}
		}, again("certificate")},
		"another certificate": {func(w *world) {
			w.disk, w.artifacts[w.current.ID] = newDisk(), Artifact{Document: []byte("another")}
		}, again("the certificate")},
		"of another stream": {func(w *world) { w.relabel() }, again("the certificate")},
		"noted for other rows": {func(w *world) {
			w.notes[2] = map[string][]byte{windowNote: []byte(`{"run":1,"for":"b"}`)}
		}, with},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(windowRows)
			fatal.If(t, w.process(t, nil))
			c.change(w)
			w.grow(windowRows)
			w.said = nil
			err := w.process(t, func(s *Stream) { s.Folders = second{w} })
			fatal.If(t, err)
			a := w.published[1].Publisher.Training.Parent
			text, ok := c.want[a != nil]
			if !ok || text != "" && !w.says(text) || a != nil && a.Model != digestOf(1) {
				t.Errorf("it begins with %+v: %q, want %v", a, w.said, c.want)
			}
		})
	}
}

// TestTopicOfTheNameMadeAgain: each process refuses another topic than that of the current certificate, also
// one that finds no spool.
func TestTopicOfTheNameMadeAgain(t *testing.T) {
	w := newWorld(windowRows)
	fatal.If(t, w.process(t, nil))
	w.topic.Topic, w.committed, w.disk = "two", 0, newDisk() // brokers forget offsets of a topic that is deleted
	for range 2 {
		if err := w.process(t, nil); err == nil || !strings.Contains(err.Error(), "it was made again") || len(w.published) != 1 {
			t.Errorf("%v, %d certificates", err, len(w.published))
		}
		w.disk = newDisk()
	}
}

// TestOutputFollowsTheLog: what the output says is current is what the log says, though another member
// has made it, or the last certificate has not become current.
func TestOutputFollowsTheLog(t *testing.T) {
	w := newWorld(windowRows)
	fatal.If(t, w.process(t, nil))
	first := w.current
	w.grow(windowRows)
	fatal.If(t, w.process(t, nil))
	w.current, w.disk = first, newDisk()
	fatal.If(t, w.process(t, nil))
	p, err := w.store.Current()
	if err != nil || p == nil || p.ID != first.ID || p.Model != digestOf(1) {
		t.Errorf("current is %+v, %v", p, err)
	}
	if _, err := w.store.GetModel(t.Context(), digestOf(1)); err != nil {
		t.Error(err)
	}
}

// TestPromotedByHand: a model that is made current on the log, while a stream works, is so in the output
// from its next window on.
func TestPromotedByHand(t *testing.T) {
	w := newWorld(windowRows)
	var first Pointer
	var seen string
	w.inTraining = func() {
		p, err := w.store.Current()
		if fatal.If(t, err); p != nil {
			seen = p.ID
		}
	}
	cold := func(s *Stream) { s.Job.Train.WarmStart = false }
	fatal.If(t, w.process(t, cold, func() { first = w.current; w.grow(windowRows) }, func() { w.current = first; w.grow(windowRows) }))
	if len(w.published) != 3 || seen != first.ID {
		t.Errorf("%d windows; in the third training current is %q, want %q", len(w.published), seen, first.ID)
	}
}

// relabel makes what is current a certificate of another stream.
func (w *world) relabel() {
	c := w.published[0]
	of := *c.Delta.Sequence
	of.Name = "rows/others"
	c.Delta.Sequence = &of
	document, err := certify.Marshal(c)
	if err != nil {
		panic(err)
	}
	w.current.ID = digest.Of(document)
	w.artifacts[w.current.ID] = Artifact{Document: document, Model: modelText(1)}
}

// second are folders that begin with number 2.
type second struct{ *world }

func (s second) Left() ([]int64, error) {
	left, err := s.world.Left()
	return append([]int64{2}, left...)[:1], err
}

// TestDamagedNote: a note that was changed ends the stream, and says where it is.
func TestDamagedNote(t *testing.T) {
	w := newWorld(windowRows)
	w.notes[1] = map[string][]byte{windowNote: bytes.Replace(digest.Seal([]byte(`{"run":3}`)), []byte("3"), []byte("4"), 1)}
	if err := w.process(t, nil); err == nil || len(w.published) > 0 || !strings.HasPrefix(err.Error(), windowNote+": it is damaged (hint: remove it, and the window gets a new number)") {
		t.Errorf("it says %v", err)
	}
}
