package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// diesWith runs what is due on a scheduler that dies once its run has ended, before the record
// knows of that, and begins it anew a while later.
func diesWith(t *testing.T, path string, meanwhile func()) *stage {
	t.Helper()
	s := onStage(t, path, true)
	train := s.train
	s.train = func(ctx context.Context, j *scheduled, p prepared) (*outcome, error) {
		o, err := train(ctx, j, p)
		s.record.step = func(func() error) error { return errDies }
		return o, err
	}
	if _, err := s.look(t.Context(), s.jobs[0], someDay); !errors.Is(err, errDies) {
		t.Fatal(err)
	}
	if err := s.record.Close(); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	s = onStage(t, path, true)
	if err := s.recover(s.jobs[0], someDay.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return s
}

// A number has one certificate, though what a run reads has changed between its certificate
// and the record of it: that of the first try stands.
func TestNumberHasOneCertificate(t *testing.T) {
	c := smallTopic(t)
	address, dir := c.ListenAddrs()[0], t.TempDir()
	createTopic(t, address, "avro", 1)
	g, err := synth.New(synth.Config{Seed: smallSeed, Noise: 0.1, Features: 2})
	if err != nil {
		t.Fatal(err)
	}
	rows := g.Rows(0, 180)
	p, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range rows[0] {
		var b []byte
		for c := range 3 {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(rows[c][i]))
		}
		if err := p.ProduceSync(t.Context(), &kgo.Record{Topic: "avro", Value: b}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	schema := func(names ...string) {
		var fields []string
		for _, n := range names {
			fields = append(fields, fmt.Sprintf(`{"name":%q,"type":"double"}`, n))
		}
		writeFile(t, filepath.Join(dir, "rows.avsc"), []byte(`{"type":"record","name":"r","fields":[`+strings.Join(fields, ",")+"]}"))
	}
	schema("x1", "x2", "y")
	job := tiny(jobFile{"source": fmt.Sprintf("{kafka: {brokers: [%q], topic: avro, format: avro, schema: rows.avsc}}", address), "features": "[x1, x2]"}).write(t, dir)
	s := diesWith(t, writeSchedule(t, dir, job, "triggers: [{lag: 60}]"), func() { schema("y", "x2", "x1") })
	all := sequenceOf(t, filepath.Join(dir, "out"))
	if run := s.at(t, someDay.Add(time.Hour)); run.State != pipeline.StateFinished || run.Certificate != all[1].ID || !strings.Contains(fmt.Sprint(s.said), "of an earlier try stands") {
		t.Errorf("%+v; %q", run, s.said)
	}
	if all := sequenceOf(t, filepath.Join(dir, "out")); len(all) != 1 {
		t.Errorf("%d certificates", len(all))
	}
}

// What an earlier try has left is no outcome if its model is not the one it was published with.
func TestDamagedModelBehindACertificate(t *testing.T) {
	address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
	path := writeSchedule(t, dir, jobOnTopic(t, dir, address, "", nil), "triggers: [{lag: 60}]")
	s := diesWith(t, path, func() {
		forget(t, address, 1, 30)
		models, err := filepath.Glob(filepath.Join(dir, "out", "model-*"))
		if err != nil || len(models) != 1 {
			t.Fatal(models, err)
		}
		writeFile(t, models[0], readFile(t, models[0])[:100])
	})
	if run := s.at(t, someDay.Add(time.Hour)); run.State != pipeline.StateFailed || run.Current || !strings.Contains(run.Fault, "of an earlier try") {
		t.Errorf("%+v; %q", run, s.said)
	}
}

// A certificate stands though retention has taken its rows before the record knew of it.
func TestRetentionBehindACertificate(t *testing.T) {
	address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
	path := writeSchedule(t, dir, jobOnTopic(t, dir, address, "", nil), "triggers: [{lag: 60}]")
	s := diesWith(t, path, func() { forget(t, address, 1, 30) })
	if run := s.at(t, someDay.Add(time.Hour)); run.State != pipeline.StateFinished || run.Sequence != 1 || !run.Current {
		t.Errorf("%+v; %q", run, s.said)
	}
}

// A scheduler that comes upon a window which another one is filling takes nothing away from it.
func TestWindowThatAnotherFills(t *testing.T) {
	address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
	job := jobOnTopic(t, dir, address, "", nil)
	var both [2]*stage
	for i, record := range []string{"a.db", "b.db"} {
		text := strings.Replace(string(readFile(t, writeSchedule(t, dir, job, "triggers: [{lag: 60}]", "backoff: 1m"))), "schedule.db", record, 1)
		path := filepath.Join(dir, record+".yaml")
		writeFile(t, path, []byte(text))
		both[i] = onStage(t, path, true)
	}
	meanwhile := func() {
		if run := both[1].at(t, someDay.Add(time.Minute)); run != nil || !strings.Contains(fmt.Sprint(both[1].said), "in use by another process") {
			t.Errorf("%+v; %q", run, both[1].said)
		}
	}
	train := both[0].train
	both[0].train = func(ctx context.Context, j *scheduled, p prepared) (*outcome, error) {
		k := p.Source.(*config.Topic)
		if _, err := k.Open(ctx, pipeline.Choice{Features: p.Job.Features, Target: p.Job.Target}); err != nil {
			t.Fatal(err)
		}
		meanwhile()
		if err := k.Release(false); err != nil {
			t.Fatal(err)
		}
		return train(ctx, j, p)
	}
	for i, s := range both { // the other one finds that it is done
		if run := s.at(t, someDay.Add(time.Duration(i)*time.Hour)); run.State != pipeline.StateFinished || run.Sequence != 1 {
			t.Errorf("%+v", run)
		}
	}
	if all := sequenceOf(t, filepath.Join(dir, "out")); len(all) != 1 || follow(t, all)[0] != 60 {
		t.Errorf("%d certificates", len(all))
	}
}

// What is new is what no run has taken: a lake that does not change triggers nothing.
func TestNewFilesTriggerOnce(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{rows: 100}]", "files: new"), false)
	for i := range 3 {
		if run := s.at(t, someDay.Add(time.Duration(i)*time.Hour)); run == nil || run.State != pipeline.StateFinished {
			t.Fatalf("%+v", run)
		}
		if run := s.at(t, someDay.Add(time.Duration(i)*time.Hour+time.Minute)); run != nil {
			t.Fatalf("it runs again: %+v", run)
		}
		addFile(t, dir, fmt.Sprint("more", i), 180+100*int64(i), 100)
	}
}

// A scheduler whose run is begun again and again and always kills it gives up.
func TestRunThatKillsItsScheduler(t *testing.T) {
	address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
	path := writeSchedule(t, dir, jobOnTopic(t, dir, address, "", nil), "triggers: [{lag: 60}]")
	die := func(i int) *scheduledRun {
		s := onStage(t, path, false)
		defer s.record.Close()
		now := someDay.Add(time.Duration(i) * time.Hour)
		if err := s.recover(s.jobs[0], now); err != nil {
			t.Fatal(err)
		}
		s.train = func(context.Context, *scheduled, prepared) (*outcome, error) {
			s.record.step = func(func() error) error { return errDies }
			return nil, errors.New("killed")
		}
		run, err := s.look(t.Context(), s.jobs[0], now)
		if run != nil && !errors.Is(err, errDies) {
			t.Fatal(err)
		}
		return run
	}
	begun := 0
	for i := range mostKills + 1 {
		if run := die(i); run == nil || run.Sequence != 1 {
			t.Fatalf("%d: %+v", i, run)
		}
		begun++
	}
	if run := die(begun); run != nil {
		t.Fatalf("it is begun again after %d times: %+v", begun, run)
	}
	sendRows(t, address, 180, 60)
	s := onStage(t, path, true)
	if run := s.at(t, someDay.Add(24*time.Hour)); run == nil || run.State != pipeline.StateFinished || run.Sequence != 2 || run.Window.Partitions[0].First != 60 {
		t.Errorf("the next window: %+v", run)
	}
}

// A run that has gone from the record, after a thousand others, is begun anew.
func TestOpenRunThatHasGone(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]")
	s := onStage(t, path, false)
	known, err := s.record.job("waves")
	if err != nil {
		t.Fatal(err)
	}
	known.Open = 7
	if err := s.record.save("waves", known, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.recover(s.jobs[0], someDay); err != nil {
		t.Fatal(err)
	}
	if run := s.at(t, someDay); run == nil || run.State != pipeline.StateFinished {
		t.Errorf("%+v", run)
	}
}

// An output that cannot be read stops its own job and no other.
func TestDamagedOutputStopsOneJob(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := twoJobs(t, dir)
	writeFile(t, filepath.Join(dir, "second", "certificate-of-the-paper.json"), []byte("{}")) // no certificate of ours
	for i, text := range []string{"{", "", "{}", "null", `{"format":"pacsgp-sequences/1","sequences":null}`, `{"format":"pacsgp-sequences/1","sequences":{"first":{"taken":9223372036854775807}}}`, `{"format":"pacsgp-sequences/1","sequences":{"first":{"numbers":{"a":3},"taken":2}}}`} {
		addFile(t, dir, fmt.Sprint("more", i), 180+60*int64(i), 60)
		writeFile(t, filepath.Join(dir, "first", sequencesFile), []byte(text))
		pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "first: which numbers of its sequence are taken cannot be told", sequencesFile, "hint:")
		if n, err := lastNumber(t.Context(), filepath.Join(dir, "second"), "second"); err != nil || n != int64(i+1) {
			t.Errorf("%q: the other job has come to number %d, %v", text, n, err)
		}
	}
	writeFile(t, filepath.Join(dir, "second", "certificate-"+strings.Repeat("0", 64)+".json"), []byte("{"))
	addFile(t, dir, "last", 900, 60)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "certificate-0000", "hint:")
}

// A pointer that cannot be read is no reason to train again: the run has its certificate, and
// is current when the pointer is mended by hand.
func TestDamagedPointer(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	out := filepath.Join(dir, "out")
	writeFile(t, filepath.Join(out, sinklake.CurrentFile), []byte("{"))
	s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]", "retries: 3"), true)
	run := s.at(t, someDay)
	if run.State != pipeline.StateFinished || run.Current || *run.Exit != exitFailure || !strings.Contains(run.Why, "pacsgp promote") {
		t.Fatalf("%+v", run)
	}
	if run := s.at(t, someDay.Add(time.Hour)); run != nil {
		t.Errorf("it runs again: %+v", run)
	}
	if err := os.Remove(filepath.Join(out, sinklake.CurrentFile)); err != nil {
		t.Fatal(err)
	}
	succeed(t, "promote", run.Certificate, out, "--judge", "draw")
}

// A challenger that keep has removed does not wait for ever.
func TestWaitingChallengerIsRemoved(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]", "promote: {on_new_rows: 500}"), true)
	s.at(t, someDay)
	addFile(t, dir, "b", 180, 60)
	run := s.at(t, someDay.Add(time.Hour))
	if run.Current || !strings.Contains(run.Why, "waits for rows") {
		t.Fatalf("%+v", run)
	}
	for _, name := range []string{sinklake.CertificateName(run.Certificate), sinklake.RowName(run.Certificate), sinklake.ManifestName(run.Certificate)} {
		if err := os.Remove(filepath.Join(dir, "out", name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	s.at(t, someDay.Add(2*time.Hour))
	if known, err := s.record.job("waves"); err != nil || known.Waiting != "" || !strings.Contains(fmt.Sprint(s.said), "not in the output any more") {
		t.Errorf("%q waits, %v; %q", known.Waiting, err, s.said)
	}
}

// What only looks makes nothing: no record, and no folder.
func TestLookingMakesNothing(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]")
	pacsgp(t, "schedule", "-c", path, "--runs").says(t, exitFailure, "there is no record yet")
	pacsgp(t, "promote", "4978aaaaaaaaaaaa", filepath.Join(dir, "nowhere")).says(t, exitFailure)
	for _, name := range []string{"schedule.db", "nowhere"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	writeFile(t, filepath.Join(dir, "schedule.db"), []byte("no record"))
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "a record is a folder now")
}

// Training by hand into the output of a schedule is told to be none of its sequence.
func TestTrainIntoTheOutputOfASchedule(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	succeed(t, "schedule", "-c", writeSchedule(t, dir, job, "triggers: [{files: 1}]"), "--once")
	addFile(t, dir, "b", 180, 60)
	if log := succeed(t, "train", "-c", job).log; !strings.Contains(log, "is the output of a schedule") {
		t.Errorf("it says %s", log)
	}
}
