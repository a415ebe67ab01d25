package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// writeSchedule writes a schedule of one job, and returns its path.
func writeSchedule(t *testing.T, dir, job string, keys ...string) string {
	t.Helper()
	path := filepath.Join(dir, "schedule.yaml")
	text := fmt.Sprintf("record: schedule.db\njobs:\n  - name: waves\n    job: %s\n", filepath.Base(job))
	for _, k := range keys {
		text += "    " + k + "\n"
	}
	writeFile(t, path, []byte(text))
	return path
}

// A stage is a schedule whose time is told, and whose training is counted.
type stage struct {
	*scheduler
	jobs   []*scheduled
	trains []string // what was run: the trigger's files, in words
	fail   error    // what the next training says; nil: nothing
	said   []string
}

func onStage(t *testing.T, path string, trains bool) *stage {
	t.Helper()
	w := testSystem(discard{}, discard{}, plain(), nil)
	c, jobs, err := loadSchedule(t.Context(), path, w)
	if err != nil {
		t.Fatal(err)
	}
	record, err := openRecord(c.Record)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = record.Close() })
	s := &stage{jobs: jobs}
	s.scheduler = &scheduler{record: record, poll: time.Minute, say: func(text string) { s.said = append(s.said, text) }}
	s.train = func(ctx context.Context, j *scheduled, p prepared) (*outcome, error) {
		s.trains = append(s.trains, strings.Join(p.Source.Arguments(), " "))
		if s.fail != nil {
			return nil, s.fail
		}
		if trains {
			return limited(ctx, j, p, w)
		}
		return &outcome{Outcome: &pipeline.Outcome{Result: &pipeline.Result{Certificate: certify.Certificate{}, ID: "none"}}}, nil // certifies nothing: status 3
	}
	return s
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (s *stage) at(t *testing.T, now time.Time) *scheduledRun {
	t.Helper()
	run, err := s.look(t.Context(), s.jobs[0], now)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// addFile adds rows to the lake of dir.
func addFile(t *testing.T, dir, name string, first, rows int64) {
	t.Helper()
	g, err := synth.New(synth.Config{Seed: smallSeed, Noise: 0.1, Features: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.WriteLake(t.Context(), filepath.Join(dir, "lake", name), 1, first, rows); err != nil {
		t.Fatal(err)
	}
}

var someDay = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// Three nights are missed: run_once runs once for all, skip waits for the next.
func TestDowntimeOverThreeTriggers(t *testing.T) {
	for missed, want := range map[string]int{"run_once": 1, "skip": 0} {
		dir := t.TempDir()
		smallLake(t, dir)
		path := writeSchedule(t, dir, tiny(nil).write(t, dir), `triggers: [{cron: "30 2 * * *", zone: UTC}]`, "missed: "+missed, "files: new")
		s := onStage(t, path, false)
		if run := s.at(t, someDay); run != nil {
			t.Fatalf("a job that is new runs at once: %+v", run)
		}
		back := someDay.AddDate(0, 0, 3).Add(12 * time.Hour) // three times 02:30 are gone, and a fourth
		run := s.at(t, back)
		if run == nil || len(s.trains) != want || run.Missed != map[string]int{"run_once": 3, "skip": 4}[missed] {
			t.Errorf("%s: %d runs, %+v", missed, len(s.trains), run)
		}
		if run := s.at(t, back.Add(time.Minute)); run != nil {
			t.Errorf("%s: another run a minute later: %+v", missed, run)
		}
		addFile(t, dir, "more", 180, 60)
		if s.at(t, back.AddDate(0, 0, 1)); missed == "run_once" && len(s.trains) != 2 {
			t.Errorf("%s: not the night after", missed)
		}
		if s.at(t, time.Date(2026, 5, 6, 2, 30, 1, 0, time.UTC)); missed == "skip" && len(s.trains) != 1 {
			t.Errorf("%s: not on time", missed)
		}
	}
}

func TestNewFilesAndRowsTrigger(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 4}, {rows: 100}]")
	s := onStage(t, path, false)
	if s.at(t, someDay); len(s.trains) != 1 { // 180 rows
		t.Fatalf("%d runs", len(s.trains))
	}
	addFile(t, dir, "a", 180, 99)
	if run := s.at(t, someDay.Add(time.Hour)); run != nil {
		t.Errorf("99 rows: %+v", run)
	}
	addFile(t, dir, "0", 300, 1) // before all others by its name
	run := s.at(t, someDay.Add(2*time.Hour))
	if run == nil || run.Trigger != "rows 100" || len(run.Files) != 5 {
		t.Fatalf("100 rows: %+v", run)
	}
	// What was taken before keeps its place, so that no row changes its role.
	if names := fmt.Sprint(run.Files[3].Path, " ", run.Files[4].Path); names != "lake/0/part-00.parquet lake/a/part-00.parquet" {
		t.Errorf("the new files are not behind the others: %s", names)
	}
}

// A run that fails is tried again, later each time, and not for ever.
func TestRetries(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 24h}]", "retries: 2", "backoff: 1m")
	s := onStage(t, path, false)
	s.at(t, someDay)
	s.fail = errors.New("no such luck")
	now := someDay.Add(24 * time.Hour)
	var runs []int
	for minute := range 10 {
		before := len(s.trains)
		s.at(t, now.Add(time.Duration(minute)*time.Minute+time.Duration(minute)*time.Second))
		if len(s.trains) > before {
			runs = append(runs, minute)
		}
	}
	if !slices.Equal(runs, []int{0, 1, 3}) {
		t.Errorf("tried in the minutes %v, want 0, 1 and 3", runs)
	}
	all, err := s.record.runs()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range all {
		if r.State != pipeline.StateFailed || r.Try != i+1 || r.Sequence != 1 || *r.Exit != exitFailure || !r.Moment.Equal(now) {
			t.Errorf("%+v", r)
		}
	}
}

// A scheduler that is killed during a run tries it again, on the same files and under
// the same number.
func TestKilledSchedulerTriesAgain(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 24h}]")
	s := onStage(t, path, false)
	s.at(t, someDay)
	ctx, cancel := context.WithCancel(t.Context())
	good := s.train
	s.train = func(context.Context, *scheduled, prepared) (*outcome, error) {
		cancel()
		return nil, errors.New("interrupted")
	}
	if _, err := s.look(ctx, s.jobs[0], someDay.Add(24*time.Hour)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.train = good
	later := someDay.Add(25 * time.Hour)
	if err := s.recover(s.jobs[0], later); err != nil {
		t.Fatal(err)
	}
	run := s.at(t, later)
	if run == nil || run.State != pipeline.StateFinished || run.Sequence != 1 || run.Try != 1 {
		t.Errorf("%+v", run)
	}
	all, err := s.record.runs()
	if err != nil || len(all) != 2 || all[0].State != stateInterrupted {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestTwoSchedulersOnOneRecord(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 24h}]")
	onStage(t, path, false) // has the record until the test ends
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitFailure, "in use by another process", "hint: one scheduler has the record")
}

// 24 hours of an hourly trigger, minute by minute, over gocron and a clock that is told.
func TestDayOfHours(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), `triggers: [{cron: "0 * * * *", zone: Europe/Berlin}, {every: 5h30m}]`)
	s := onStage(t, path, false)
	clock := clockwork.NewFakeClockAt(someDay.Add(time.Second))
	ctx, cancel := context.WithCancel(t.Context())
	looked := make(chan time.Time, 48*60)
	s.looked = func(began time.Time) { looked <- began }
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, s.jobs, clock, false) }()
	last := <-looked
	for range 24*60 + 30 {
		if !last.Before(someDay.Add(24 * time.Hour)) {
			break
		}
		if err := clock.BlockUntilContext(ctx, 1); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Minute)
		select {
		case last = <-looked:
		case <-time.After(time.Second): // the look before had not quite ended: this one is left out
		}
		for len(looked) > 0 {
			last = <-looked
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	all, err := s.record.runs()
	if err != nil {
		t.Fatal(err)
	}
	// On a machine that is slow a look is left out, and the next one deals with its moments.
	hours, others, seen := 0, 0, map[time.Time]bool{}
	for _, r := range all {
		if strings.HasPrefix(r.Trigger, "cron") {
			hours += 1 + r.Missed
		} else {
			others += 1 + r.Missed
		}
		if seen[r.Moment] {
			t.Errorf("%v is dealt with twice", r.Moment)
		}
		seen[r.Moment] = true
	}
	if hours != 24 || others > 4 || len(s.trains) != 1 { // twice both are due at once; and the lake does not change
		t.Errorf("%d hours, %d times half an hour past, %d trained", hours, others, len(s.trains))
	}
}

func TestScheduleFaults(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	for _, c := range []struct{ key, want string }{
		{"triggers: []", "there is none"},
		{"triggers: [{cron: \"30 2 * * *\"}]", "name the time zone"},
		{"triggers: [{cron: \"30 2 * *\", zone: UTC}]", "want five fields"},
		{"triggers: [{every: 1h, rows: 3}]", "want one of cron, every, rows, files"},
		{"triggers: [{rows: 0}]", "want a whole number of at least 1"},
		{"triggers: [{every: 1h}, {files: 0}]", "want a whole number of at least 1"},
		{"triggers: [{}]", "want one of cron, every, rows, files"},
		{"triggers: [{every: 1h}]\n    files: some", "want all, new"},
		{"triggers: [{every: 1h}]\n    files: {last: 30d}", "want all, new"},
		{"triggers: [{every: 1h}]\n    promote: {bound_not_worse_by: 3}", "want always, within_limit, {bound_not_worse_by: 0.01} or {on_new_rows: 1000}"},
		{"triggers: [{every: 1h}]\n    promote: within_limit", "the job has no limit"},
		{"triggers: [{every: 1h}]\n    files: {last: 3d, column: y}", "no fair sample"},
		{"triggers: [{every: 1h}]\n    missed: never", "neither run_once nor skip"},
		{"trigger: []", "unknown field"},
	} {
		a := pacsgp(t, "schedule", "-c", writeSchedule(t, dir, job, c.key), "--once")
		if a.status != exitConfig || !strings.Contains(a.message, c.want) || c.want == "want a whole number of at least 1" && strings.Contains(a.message, "want one of") {
			t.Errorf("%s: status %d, %q; want %q", c.key, a.status, a.message, c.want)
		}
	}
	std := filepath.Join(dir, "std.yaml")
	writeFile(t, std, []byte(strings.Replace(string(readFile(t, job)), "epsilon: 0.7", "epsilon: {std: 0.7}", 1)))
	pacsgp(t, "schedule", "-c", writeSchedule(t, dir, std, "triggers: [{every: 1h}]"), "--once").says(t, exitConfig, "another one in each sample")
	timed := filepath.Join(dir, "timed.yaml")
	writeFile(t, timed, []byte(strings.Replace(string(readFile(t, job)), "passes: 2", "passes: 2, time: 1m", 1)))
	pacsgp(t, "schedule", "-c", writeSchedule(t, dir, timed, "triggers: [{every: 1h}]"), "--once").says(t, exitConfig, "train.time: the number of a run")
	pacsgp(t, "schedule").says(t, exitUsage, "-c:")
}

// The last 30 days by a key of the paths and by a column.
func TestFilesOfTheLastDays(t *testing.T) {
	dir := t.TempDir()
	for i, day := range []string{"2026-03-01", "2026-04-01", "2026-04-02", "2026-05-01"} {
		addFile(t, dir, "day="+day, int64(60*i), 60)
	}
	path := writeSchedule(t, dir, tiny(jobFile{"exclude": "[day]"}).write(t, dir), "triggers: [{files: 1}]", "files: {last: 30d, key: day}")
	s := onStage(t, path, false)
	run := s.at(t, time.Date(2026, 5, 2, 1, 0, 0, 0, time.UTC)) // from 2 April, 01:00
	var paths []string
	for _, f := range run.Files {
		paths = append(paths, f.Path)
	}
	if want := []string{"lake/day=2026-04-02/part-00.parquet", "lake/day=2026-05-01/part-00.parquet"}; !slices.Equal(paths, want) {
		t.Errorf("taken %q, want %q", paths, want)
	}
	addFile(t, dir, "day=soon", 400, 10)
	if run := s.at(t, time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC)); run == nil || !strings.Contains(run.Fault, "is no date") {
		t.Errorf("%+v", run)
	}
}

// A job that is changed is another one: its certificates would not share delta.
func TestChangedJobIsRefused(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	path := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]")
	succeed(t, "schedule", "-c", path, "--once")
	tiny(jobFile{"delta": "0.2"}).write(t, dir)
	pacsgp(t, "schedule", "-c", path, "--once").says(t, exitConfig, "another job than its first run had")
}

// Runs, promotion by the rule, rollback, and verification of all on the last day.
func TestChampionAndChallenger(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	out := filepath.Join(dir, "out")
	path := writeSchedule(t, dir, job, "triggers: [{files: 1}]", "promote: {bound_not_worse_by: 0.0}")
	succeed(t, "schedule", "-c", path, "--once")
	first := current(t, out)
	pointsToWhole(t, "the first run", out)
	addFile(t, dir, "more", 180, 180)
	succeed(t, "schedule", "-c", path, "--once")
	second := current(t, out)
	if second.ID == first.ID || second.Bound > first.Bound {
		t.Fatalf("with twice the rows the bound went from %v to %v, current is %s", first.Bound, second.Bound, second.ID)
	}
	// A worse one is certified and not current: all rows of another function.
	g, err := synth.New(synth.Config{Seed: smallSeed + 1, Noise: 0.1, Features: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.WriteLake(t.Context(), filepath.Join(dir, "lake", "other"), 1, 0, 100); err != nil {
		t.Fatal(err)
	}
	a := pacsgp(t, "schedule", "-c", path, "--once")
	if got := current(t, out); got.ID != second.ID {
		t.Errorf("status %d: a worse one is current: %+v", a.status, got)
	}
	var runs []scheduledRun
	if err := json.Unmarshal([]byte(succeed(t, "schedule", "-c", path, "--runs").stdout), &runs); err != nil || len(runs) != 3 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i, r := range runs {
		if r.Sequence != int64(i+1) || r.State != pipeline.StateFinished || r.Current != (i < 2) {
			t.Errorf("run %d: %+v", i, r)
		}
		c, _, err := readCertificate(t.Context(), filepath.Join(out, "certificate-"+r.Certificate+".json"))
		if err != nil {
			t.Fatal(err)
		}
		k := i + 1
		if share := c.Delta.Share(certify.MethodPACBayes).String(); share != fmt.Sprintf("1/%d", k*(k+1)) {
			t.Errorf("run %d has spent %s of delta", k, share)
		}
		v := pacsgp(t, "verify", filepath.Join(out, "model-"+c.Model.Digest+".parquet"), filepath.Join(out, "certificate-"+r.Certificate+".json"), filepath.Join(dir, "lake"), "--judge", "draw")
		if v.status != *r.Exit || strings.Contains(v.message, "refused") {
			t.Errorf("run %d does not verify on the last day: status %d, %s", k, v.status, v.message)
		}
	}
	succeed(t, "promote", first.ID[:12], out, "--judge", "draw")
	if got := current(t, out); got.ID != first.ID {
		t.Errorf("after the rollback %s is current", got.ID)
	}
	// Nothing new: nothing moves.
	succeed(t, "schedule", "-c", path, "--once")
	if got := current(t, out); got.ID != first.ID {
		t.Errorf("an idle scheduler has moved the pointer to %s", got.ID)
	}
	pacsgp(t, "promote", "123456789", out).says(t, exitFailure, "there is no certificate")
	if err := os.Remove(filepath.Join(out, sinklake.ModelName(second.Model))); err != nil {
		t.Fatal(err)
	}
	if a := pacsgp(t, "promote", second.ID, out, "--judge", "draw"); a.status != exitFailure || current(t, out).ID != first.ID {
		t.Errorf("the pointer names what is not there: status %d", a.status)
	}
}

// The schedules of the examples are some: of the demo's job, and of one on a topic.
func TestExamplesOfSchedules(t *testing.T) {
	for name, which := range map[string]string{"schedule.yaml": config.FilesAll, "schedule-topic.yaml": config.FilesNew} {
		path := filepath.Join("..", "..", "examples", "schedule", name)
		_, jobs, err := loadSchedule(t.Context(), path, testSystem(discard{}, discard{}, plain(), nil))
		if err != nil || len(jobs) != 1 || jobs[0].prepared.Job.DeltaPolicy != certify.DeltaSequence || jobs[0].Files.Which != which {
			t.Errorf("%s: %+v, %v", name, jobs, err)
		}
	}
}
