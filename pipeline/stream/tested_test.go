package stream

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

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

// TestRowsThatAModelHasSeenDoNotTestIt: nor do those of another topic of the name.
func TestRowsThatAModelHasSeenDoNotTestIt(t *testing.T) {
	for says, change := range map[string]func(w *world){
		"has seen rows of this window":   func(w *world) { w.committed, w.known = 0, nil },
		"another topic of the name rows": func(w *world) { w.topic.Topic = "two" },
	} {
		t.Run(says, func(t *testing.T) {
			w := provenWorld(2 * windowRows)
			fatal.If(t, w.process(t, nil))
			tests := w.tests
			change(w)
			w.grow(windowRows)
			fatal.If(t, w.process(t, nil))
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
		err := w.process(t, nil)
		if ended = err == nil; err != nil && !errors.Is(err, errKilled) {
			t.Fatalf("killed at %d, it says %v", at, err)
		}
		w.killAt = 0
		if lost {
			w.disk = newDisk()
		}
		w.stores = map[int64]*pipelinetest.Store{}
		fatal.If(t, w.process(t, nil))
		return w, ended
	}
	// Of a process that lost its disk certificates have other numbers, and so other ids.
	same := cmp.Options{
		cmpopts.IgnoreFields(Known{}, "Pointed"), cmpopts.IgnoreFields(watch.Test{}, "Certificate", "Alarm"),
		cmp.Transformer("mean", func(l pipeline.TopicIdentity) string { return l.Topic }),
		cmp.Comparer(func(a, b watch.Test) bool { return a.Losses == b.Losses && a.Known == b.Known }),
	}
	for _, loose := range []bool{false, true} {
		undisturbed, _ := run(0, false, loose, false)
		want, current := undisturbed.heard(t), undisturbed.published[windows-1].Sample.Segments
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
