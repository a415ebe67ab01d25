package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// copyOf copies a record.
func copyOf(t *testing.T, record string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(record)); err != nil {
		t.Fatal(err)
	}
	return to
}

// putBack puts a copy in the place of a record.
func putBack(t *testing.T, from, record string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(record), os.CopyFS(record, os.DirFS(from))); err != nil {
		t.Fatal(err)
	}
}

// A record that was put back, or made anew, gives no number a second time: the output knows
// what was taken.
func TestOlderRecord(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]")
	record := filepath.Join(dir, "schedule.db")
	succeed(t, "schedule", "-c", path, "--once")
	older := copyOf(t, record)
	addFile(t, dir, "b", 180, 60)
	succeed(t, "schedule", "-c", path, "--once")
	putBack(t, older, record)
	addFile(t, dir, "c", 240, 60)
	if log := succeed(t, "schedule", "-c", path, "--once").log; !strings.Contains(log, "tells of number 2 of its sequence, and the record of 1") {
		t.Errorf("it says %s", log)
	}
	if err := os.RemoveAll(record); err != nil {
		t.Fatal(err)
	}
	addFile(t, dir, "d", 300, 60)
	succeed(t, "schedule", "-c", path, "--once")
	if all := sequenceOf(t, filepath.Join(dir, "out")); len(all) != 4 || all[4].certificate.Sample.Rows != 360 {
		t.Errorf("%d certificates", len(all))
	}
}

// Where the output has certificates that neither it nor the record knows of, none of their
// numbers is free.
func TestCertificatesOfNoRecord(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]")
	record, list := filepath.Join(dir, "schedule.db"), filepath.Join(dir, "out", sequencesFile)
	succeed(t, "schedule", "-c", path, "--once")
	older, olderList := copyOf(t, record), readFile(t, list)
	addFile(t, dir, "b", 180, 60)
	succeed(t, "schedule", "-c", path, "--once")
	putBack(t, older, record)
	writeFile(t, list, olderList)
	addFile(t, dir, "c", 240, 60)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "certificate number 2 of sequence", "tell of 1", "hint:")
	// What cannot go on is no success when it is asked again.
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "the last look has failed: ", "certificate number 2", "it is looked again at")
	writeFile(t, list, olderList[:len(olderList)/2])
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, sequencesFile, "restore it from a copy")
}

// Another job under the name of one that has certificates is refused, whichever record it
// comes with.
func TestChangedJobWithANewRecord(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]")
	succeed(t, "schedule", "-c", path, "--once")
	tiny(jobFile{"delta": "0.2"}).write(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, "schedule.db")); err != nil {
		t.Fatal(err)
	}
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitConfig, "another job than its first run had")
}

// twoJobs writes a schedule of two jobs, first and second, on the lake of dir.
func twoJobs(t *testing.T, dir string) string {
	t.Helper()
	jobs := "jobs:\n"
	for _, name := range []string{"first", "second"} {
		writeFile(t, filepath.Join(dir, name+".yaml"), readFile(t, tiny(jobFile{"output": name}).write(t, dir)))
		jobs += "  - {name: " + name + ", job: " + name + ".yaml, triggers: [{files: 1}]}\n"
	}
	path := filepath.Join(dir, "schedule.yaml")
	writeFile(t, path, []byte("record: schedule.db\n"+jobs))
	return path
}

// One job that was changed is told before another one is run.
func TestChangedJobStopsNoRunHalfway(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := twoJobs(t, dir)
	succeed(t, "schedule", "-c", path, "--once")
	writeFile(t, filepath.Join(dir, "second.yaml"), readFile(t, tiny(jobFile{"output": "second", "delta": "0.2"}).write(t, dir)))
	addFile(t, dir, "b", 180, 60)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitConfig, "second is another job")
	if all := sequenceOf(t, filepath.Join(dir, "first")); len(all) != 1 {
		t.Errorf("%d certificates", len(all))
	}
}

// A new record knows of windows that were given up and of their numbers: it tries the last one
// again under its number, and the next one begins behind it.
func TestNewRecordOfAFailedWindow(t *testing.T) {
	address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
	path := writeSchedule(t, dir, jobOnTopic(t, dir, address, "", nil), "triggers: [{lag: 60}]")
	anew := func() *stage {
		if err := os.RemoveAll(filepath.Join(dir, "schedule.db")); err != nil {
			t.Fatal(err)
		}
		return onStage(t, path, true)
	}
	s := anew()
	for i := range int64(2) {
		s.fail = errors.New("it is to fail")
		if run := s.at(t, someDay); run.State != pipeline.StateFailed || run.Sequence != i+1 {
			t.Fatalf("%+v", run)
		}
		sendRows(t, address, 180+60*i, 60)
	}
	s = anew()
	second := s.at(t, someDay)
	if second.State != pipeline.StateFinished || second.Sequence != 2 || second.Window.Offsets() != 60 {
		t.Fatalf("%+v; %q", second, s.said)
	}
	if third := s.at(t, someDay); third.State != pipeline.StateFinished || third.Sequence != 3 || third.Window.Offsets() != 60 || third.Window.Partitions[0].First != second.Window.Partitions[0].End {
		t.Fatalf("%+v", third)
	}
	// A record that is new once more repeats nothing that has its certificate.
	s = anew()
	if run := s.at(t, someDay); run != nil {
		t.Errorf("%+v", run)
	}
}

// Two records that are used for one output at the same time share its sequence: no number is
// taken twice, and the windows follow one another.
func TestTwoRecordsOnOneOutput(t *testing.T) {
	address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
	job := jobOnTopic(t, dir, address, "", nil)
	var both [2]*stage
	for i, record := range []string{"a.db", "b.db"} {
		text := strings.Replace(string(readFile(t, writeSchedule(t, dir, job, "triggers: [{lag: 60}]"))), "schedule.db", record, 1)
		path := filepath.Join(dir, record+".yaml")
		writeFile(t, path, []byte(text))
		both[i] = onStage(t, path, true)
	}
	var numbers []int64
	note := func(run *scheduledRun) {
		t.Helper()
		if run == nil || run.State != pipeline.StateFinished {
			t.Fatalf("%+v; %q; %q", run, both[0].said, both[1].said)
		}
		numbers = append(numbers, run.Sequence)
	}
	sent := int64(180)
	for i := range 4 {
		now := someDay.Add(time.Duration(i) * time.Hour)
		one, other := both[i%2], both[1-i%2]
		// The other one takes a number between the look of the one and its claim.
		step, faster := one.record.step, true
		one.record.step = func(effect func() error) error {
			if known, err := one.record.job("waves"); faster && err == nil && (i > 0 || known.Topic != nil) {
				faster = false
				note(other.at(t, now))
			}
			return step(effect)
		}
		if run := one.at(t, now); run != nil {
			t.Fatalf("%+v", run)
		}
		one.record.step = step
		sendRows(t, address, sent, 60)
		sent += 60
		note(one.at(t, now.Add(time.Minute)))
		sendRows(t, address, sent, 60)
		sent += 60
	}
	if !slices.Equal(numbers, []int64{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("they took the numbers %d", numbers)
	}
	if ends := follow(t, sequenceOf(t, filepath.Join(dir, "out"))); ends[0]+ends[1]+ends[2] != sent-60 {
		t.Errorf("the windows end at %v", ends)
	}
}
