package stream

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// badFirst is the mean of models of which the one of the first window misses every row.
func badFirst(first int64) float64 {
	if first == 0 {
		return 5
	}
	return 0.5
}

// byRows is the rule by which a better model replaces the current one.
func byRows(s *Stream) { s.Promote = watch.Promotion{Error: .05} }

// provenWorld is one with certificates that can be tested.
func provenWorld(rows int64) *world {
	w := newWorld(rows)
	w.proven = true
	return w
}

// what rows have said, as it was published last.
func (w *world) heard(t *testing.T) (k Known) {
	t.Helper()
	fatal.If(t, json.Unmarshal(w.known, &k))
	return k
}

// TestWindowsTestFirst: each window tests the model that is current before it trains the next one.
func TestWindowsTestFirst(t *testing.T) {
	w := provenWorld(4 * windowRows)
	fatal.If(t, w.process(t, nil))
	w.each(t, 4)
	if len(w.tests) != 3 || !w.says("of 40 rows") {
		t.Fatalf("%d tests of four windows: %q", len(w.tests), w.said)
	}
	for i, test := range w.tests {
		if c := w.published[i]; test.Certificate != idOf(t, w, i) || test.Losses.Count() != windowRows || test.Losses.Upper() != 0 || test.Alarm.Raised > 0 || !(test.Alarm.Bound < 1) {
			t.Errorf("window %d tests certificate number %d: %+v", i+2, c.Delta.Sequence.Number, test)
		}
	}
	if k := w.heard(t); k.Offsets[0] != 4*windowRows || k.Current != nil || k.Pointed != idOf(t, w, 3) {
		t.Errorf("behind four windows: %+v", k)
	}
}

// idOf is the id of the certificate that was published so many others behind.
func idOf(t *testing.T, w *world, i int) string {
	t.Helper()
	for id, a := range w.artifacts {
		if slices.Equal(a.Model, modelOf(w.published[i].Delta.Sequence.Number)) {
			return id
		}
	}
	t.Fatalf("certificate %d has no artifact", i)
	return ""
}

// TestABetterModelReplacesTheCurrentOne: a model with an alarm stays current until another one is
// better on rows that are new to both; a model that is no better never is.
func TestABetterModelReplacesTheCurrentOne(t *testing.T) {
	w := provenWorld(2 * windowRows)
	w.mean = badFirst
	fatal.If(t, w.process(t, byRows))
	if k := w.heard(t); w.current.ID != idOf(t, w, 0) || k.Current.Alarm.Raised == 0 || k.Current.Losses.Upper() != 1 || len(k.Challengers) != 1 || k.Challengers[0].Paired.Rows != 0 || !w.says("alarm: ") || !w.says("it waits until it is better") {
		t.Fatalf("behind the second window: %+v; %q", k, w.said)
	}
	w.grow(windowRows) // which is new to both
	fatal.If(t, w.process(t, byRows))
	if k := w.heard(t); w.current.ID != idOf(t, w, 1) || k.Current != nil || len(k.Challengers) != 1 || k.Challengers[0].ID != idOf(t, w, 2) || !w.says("of 40 that are new to both") {
		t.Fatalf("behind the third window: %+v; %q", k, w.said)
	}
	w.grow(5 * windowRows) // none is better than the second
	fatal.If(t, w.process(t, byRows))
	k := w.heard(t)
	if w.current.ID != idOf(t, w, 1) || k.Current.Losses.Count() != 5*windowRows || len(k.Challengers) != 3 || k.Challengers[0].ID != idOf(t, w, 5) {
		t.Errorf("behind the eighth window: %+v", k)
	}
	for i, c := range k.Challengers {
		if want := int64(2-i) * windowRows; c.Paired.Rows != want || c.Paired.Better != 0 {
			t.Errorf("challenger %d is compared on %d rows, want %d", i, c.Paired.Rows, want)
		}
	}
	w.each(t, 8)
	// A current model that is too old is replaced without a test.
	w.grow(windowRows)
	fatal.If(t, w.process(t, func(s *Stream) {
		s.Promote = watch.Promotion{Error: .05, MaxAge: time.Hour}
		s.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	}))
	if w.current.ID != idOf(t, w, 8) {
		t.Errorf("the pointer has not moved behind an hour: %q", w.said)
	}
}

// TestRowsThatAModelHasSeenDoNotTestIt: nor do those of another topic of the name.
func TestRowsThatAModelHasSeenDoNotTestIt(t *testing.T) {
	for says, change := range map[string]func(w *world){
		"has seen rows of this window":   func(w *world) { w.committed, w.known = 0, nil },
		"another topic of the name rows": func(w *world) { w.topic.Topic = "two" },
	} {
		t.Run(says, func(t *testing.T) {
			w := provenWorld(2 * windowRows)
			fatal.If(t, w.process(t, byRows))
			tests := w.tests
			change(w)
			w.grow(windowRows)
			fatal.If(t, w.process(t, byRows))
			for _, later := range w.tests[len(tests):] {
				if later.Certificate == tests[0].Certificate {
					t.Errorf("it is tested: %+v", later)
				}
			}
			if !w.says("new rows cannot test") || !w.says(says) {
				t.Errorf("it says %q", w.said)
			}
		})
	}
}

// TestEachRowTestsOnce: wherever a process is killed, what rows have said in the end is what they
// say to one that is not, also where results are published in steps.
func TestEachRowTestsOnce(t *testing.T) {
	const windows = 4
	run := func(at int, after, loose, lost bool) (w *world, ended bool) {
		w = provenWorld(windows*windowRows + 5)
		w.mean, w.loose, w.killAt, w.after = badFirst, loose, at, after
		err := w.process(t, byRows)
		if ended = err == nil; err != nil && !errors.Is(err, errKilled) {
			t.Fatalf("killed at %d, it says %v", at, err)
		}
		w.killAt = 0
		if lost {
			w.disk = newDisk()
		}
		w.stores = map[int64]*pipelinetest.Store{}
		fatal.If(t, w.process(t, byRows))
		return w, ended
	}
	// Of a process that lost its disk certificates have other numbers, and so other ids.
	same := cmp.Options{
		cmpopts.IgnoreFields(Known{}, "Since", "Pointed"), cmpopts.IgnoreFields(watch.Test{}, "Certificate", "Alarm"),
		cmpopts.IgnoreFields(watch.Challenger{}, "ID", "Against"), cmp.Transformer("mean", func(l pipeline.TopicIdentity) string { return l.Topic }),
		cmp.Comparer(func(a, b watch.Test) bool { return a.Losses == b.Losses && a.Known == b.Known }),
	}
	for _, loose := range []bool{false, true} {
		undisturbed, _ := run(0, false, loose, false)
		want, current := undisturbed.heard(t), undisturbed.published[1].Sample.Segments
		for at := 1; ; at++ {
			all := true
			for _, how := range []struct{ after, lost bool }{{false, false}, {true, false}, {true, true}} {
				if how.lost && loose { // rows of two certificates: they test what was current first, and then nothing
					continue
				}
				w, ended := run(at, how.after, loose, how.lost)
				all = all && ended
				if diff := cmp.Diff(want, w.heard(t), same...); diff != "" {
					t.Fatalf("killed at %d %+v, in steps %v:\n%s%q", at, how, loose, diff, w.said)
				}
				for i, c := range w.published {
					if idOf(t, w, i) == w.current.ID && !cmp.Equal(c.Sample.Segments, current) {
						t.Fatalf("killed at %d %+v, in steps %v: the certificate of %+v is current, want that of %+v", at, how, loose, c.Sample.Segments, current)
					}
				}
			}
			if all {
				break
			}
			if testing.Short() {
				at += 4
			}
		}
	}
}
