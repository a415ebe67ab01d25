package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A scheduler that dies before or after any step of its record, and is started again when
// more rows have come, gives the window that was frozen the same number and the same bytes.
func TestRecordOfAWindowKilled(t *testing.T) {
	repeats(t)
	dir := t.TempDir()
	onStage(t, writeSchedule(t, dir, jobOnTopic(t, dir, smallTopic(t).ListenAddrs()[0], "", nil), "triggers: [{lag: 180}]"), true).at(t, someDay)
	want := published(t, filepath.Join(dir, "out"))
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			if at > 50 {
				t.Fatal("no run survives")
			}
			when := fmt.Sprintf("step %d, after it: %v", at, after)
			address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
			path := writeSchedule(t, dir, jobOnTopic(t, dir, address, "", nil), "triggers: [{lag: 180}]")
			s := onStage(t, path, true)
			steps := 0
			s.record.step = func(effect func() error) error {
				if steps++; steps > at || steps == at && !after {
					return errDies
				}
				err := effect()
				if steps == at {
					err = errDies
				}
				return err
			}
			_, err := s.look(t.Context(), s.jobs[0], someDay)
			survived := err == nil
			if !survived && !errors.Is(err, errDies) {
				t.Fatalf("%s: %v", when, err)
			}
			if err := s.record.Close(); err != nil {
				t.Fatal(err)
			}
			s = onStage(t, path, true)
			known, err := s.record.job("waves")
			if err != nil {
				t.Fatal(err)
			}
			ended := known.Taken > 0 && known.Topic.Window == nil
			frozen := !ended && claimed(t, filepath.Join(dir, "out"))
			if frozen {
				sendRows(t, address, 180, 100) // too late for this window
			}
			later := someDay.Add(time.Hour)
			if err := s.recover(s.jobs[0], later); err != nil {
				t.Fatal(err)
			}
			if run := s.at(t, later); frozen && (run == nil || run.State != pipeline.StateFinished || run.Sequence != 1) {
				t.Errorf("%s: %+v", when, run)
			}
			if got := published(t, filepath.Join(dir, "out")); !maps.Equal(got, want) {
				t.Errorf("%s: other artifacts than those of an uninterrupted run: %q, want %q", when, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			}
			if survived {
				break
			}
		}
	}
}

// claimed reports whether an output says of a job's window that it is frozen.
func claimed(t *testing.T, out string) bool {
	t.Helper()
	all, err := readSequences(out)
	if err != nil {
		t.Fatal(err)
	}
	return all.Sequences["waves"].Topic != nil
}

// So does one that is killed in the middle of a run, wherever that is; and the next window
// has the number 2 and what came later.
func TestScheduleOfATopicKilledThenRunAgain(t *testing.T) {
	t.Parallel()
	repeats(t)
	one := func(o order) (survived bool, first map[string]string) {
		address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
		path := writeSchedule(t, dir, jobOnTopic(t, dir, address, "", jobFile{"checkpoint": "1ms"}), "triggers: [{lag: 150}]")
		out := filepath.Join(dir, "out")
		o.Args = []string{"schedule", "-c", path, "--once"}
		log, err := child(t, o).CombinedOutput()
		if survived = err == nil; !survived && !killed(err) {
			t.Fatalf("operation %d, %s: %v: %s", o.At, o.How, err, log)
		}
		frozen := claimed(t, out)
		if !frozen {
			succeed(t, "schedule", "-c", path, "--once")
		}
		sendRows(t, address, 180, 150)
		if frozen && !survived {
			succeed(t, "schedule", "-c", path, "--once")
		}
		first = published(t, out)
		succeed(t, "schedule", "-c", path, "--once")
		all := sequenceOf(t, out)
		if ends := follow(t, all); len(all) != 2 || ends[0]+ends[1]+ends[2] != 330 || all[1].certificate.Sample.Rows != 180 {
			t.Errorf("operation %d, %s: %d certificates, the first of %d rows, up to %v", o.At, o.How, len(all), all[1].certificate.Sample.Rows, ends)
		}
		return survived, first
	}
	_, want := one(order{})
	stride := 23
	if *soak {
		stride = 1
	}
	for _, how := range []string{howBefore, howAfter, howHalf} {
		for at, survived := 1, false; !survived && at < 1000; at += stride {
			var got map[string]string
			if survived, got = one(order{At: at, How: how}); !maps.Equal(got, want) {
				t.Errorf("operation %d, %s: other artifacts than those of an uninterrupted run: %q", at, how, slices.Sorted(maps.Keys(got)))
			}
		}
	}
}
