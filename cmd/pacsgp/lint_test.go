package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lintedLike demands that lint finds what train has refused a job for, and nothing else.
func lintedLike(t *testing.T, job string, train answer) {
	t.Helper()
	a := pacsgp(t, "lint", "--format", formatJSON, job)
	if a.status != train.status {
		t.Errorf("lint ends with %d, train with %d", a.status, train.status)
	}
	var said linted
	if err := json.Unmarshal([]byte(a.stdout), &said); err != nil {
		t.Fatalf("%v in %s", err, a.stdout)
	}
	if told := strings.Count(train.message, "pacsgp: "); len(said.Faults) != told {
		t.Errorf("lint has %d faults, train %d:\n%s%s", len(said.Faults), told, a.stdout, train.message)
	}
	for _, f := range said.Faults {
		if f.File != job || f.Line < 1 || f.Column < 1 || !strings.Contains(train.message, f.Message) {
			t.Errorf("train does not say %+v: %s", f, train.message)
		}
	}
}

// All faults of a file are told at once, in the order of the file; those that only follow
// from one that could not be read are not.
func TestLintTellsAll(t *testing.T) {
	dir := t.TempDir()
	job, good := filepath.Join(dir, "job.yaml"), filepath.Join(dir, "good.yaml")
	writeFile(t, job, []byte(`source: {paths: ["", lake]}
targt: y
loss: {kind: hinge}
delta: ${DELTA}
grid: {step: 0,1}
train: {passes: 1e300, batch: 1.5, seed: -1}
kernel: {family: [3, matern], isotropic: maybe}
inducing: [1, 2.5, 99999]
bad_rows: {tolerance: 200 %, to: elsewhere.parquet}
limit: ${LIMIT}
sweep:
  - {exclud: [a]}
  - {delta: 3}
roles:
  by: first
output: out/
`))
	writeFile(t, good, []byte("source: {paths: [lake]}\ntarget: y\nloss: {epsilon: 1}\ndelta: 0.1\noutput: out/\n"))
	a := pacsgpOn(t, plain(), map[string]string{"LIMIT": "77123"}, "lint", job, good)
	var got []string
	for line := range strings.Lines(a.stdout) {
		place, words, _ := strings.Cut(strings.TrimPrefix(line, job+":"), ": ")
		got = append(got, place+" "+words[:min(len(words)-1, 24)])
	}
	want := []string{
		"1:1 target: name the column ", "1:18 want a path; one that lo", `2:1 unknown field "targt"; d`, `3:14 loss.kind: "hinge" is no`, "4:8 the environment has no v",
		"5:16 this is no key, which is", "6:17 train.passes: 1e+300 is ", "6:31 want a whole number", "6:42 want a whole number from", "7:19 want a name or a list of",
		"7:42 want true or false", "8:15 want a whole number or a", "9:23 200 % of the rows would ", "10:8 limit: ${LIMIT} is no bo", `12:6 unknown field "exclud"; `, "13:6 an alternative does not ",
		"15:3 roles.reference: 0 is no",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, a.stdout)
	}
	if a.status != exitConfig || strings.Contains(a.stdout+a.message, "77123") || !strings.Contains(a.message, "17 faults in 1 file") {
		t.Errorf("status %d, want %d and no value of a variable: %s%s", a.status, exitConfig, a.stdout, a.message)
	}
}

// A file without faults, files that cannot be read, and a wrong use.
func TestLintStatus(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	if a := pacsgp(t, "lint", job, job); a.status != 0 || a.stdout != "" || a.log != "" {
		t.Errorf("status %d: %s%s", a.status, a.stdout, a.message)
	}
	if a := pacsgp(t, "lint", "--format", "json", job); a.status != 0 || !strings.Contains(a.stdout, `"faults": []`) {
		t.Errorf("status %d: %s%s", a.status, a.stdout, a.message)
	}
	none, empty := filepath.Join(dir, "none.yaml"), filepath.Join(dir, "empty.yaml")
	writeFile(t, empty, nil)
	a := pacsgp(t, "lint", none, empty, job)
	if want := none + ":1:1: no such file or directory\n" + empty + ":1:1: it is empty; docs/job.md shows the smallest job\n"; a.status != exitConfig || a.stdout != want {
		t.Errorf("status %d: %s, want %s", a.status, a.stdout, want)
	}
	pacsgp(t, "lint").says(t, exitUsage, "name the job files")
	pacsgp(t, "lint", "--format", "xml", job).says(t, exitUsage, "neither text nor json")
	if names := names(t, dir); len(names) != 3 {
		t.Errorf("lint left %q", names)
	}
}

// Schedule and score files are told from jobs by their keys, and checked as theirs.
func TestLintOfOtherFiles(t *testing.T) {
	dir := t.TempDir()
	schedule, score := filepath.Join(dir, "schedule.yaml"), filepath.Join(dir, "score.yaml")
	writeFile(t, filepath.Join(dir, "job.yaml"), []byte("source: {paths: [lake]}\ntarget: y\nloss: {epsilon: 0}\ndelta: 0.1\noutput: out/\n"))
	writeFile(t, schedule, []byte(`record: schedule.db
jobs:
  - name: a
    job: job.yaml
    triggers: [{evry: 6h}, {cron: "61 * * * *", zone: UTC}]
    missed: ${MISSED}
    promote: sometimes
`))
	writeFile(t, score, []byte("model: out/\nsource: {paths: [rows]}\nkeep: [a, a]\noutput: scored/\npol: 3s\n"))
	a := pacsgpOn(t, plain(), map[string]string{"MISSED": "secret-word"}, "lint", schedule, score)
	for _, want := range []string{
		schedule + ":4:10: jobs[0].job: bad job: " + filepath.Join(dir, "job.yaml") + ": [3:17] loss.epsilon: 0 is not positive",
		schedule + ":5:17: unknown field \"evry\"; did you mean jobs.triggers.every?; docs/schedule.md lists the keys",
		schedule + ":5:", schedule + ":7:14: want always",
		score + ":3:11: keep[1]: \"a\" is named twice", score + ":5:1: unknown field \"pol\"; did you mean poll?; docs/score.md lists the keys",
	} {
		if !strings.Contains(a.stdout, want) {
			t.Errorf("%q is not said:\n%s", want, a.stdout)
		}
	}
	if a.status != exitConfig || strings.Contains(a.stdout, "secret-word") {
		t.Errorf("status %d: %s", a.status, a.stdout)
	}
}

// A patience is of brokers: one that stands without them would be passed over.
func TestPatienceWithoutBrokersIsRefused(t *testing.T) {
	dir := t.TempDir()
	score := filepath.Join(dir, "score.yaml")
	for _, c := range []struct{ model, says string }{
		{"{name: delays, patience: 3s}", "model.kafka.patience: it is given without brokers"},
		{`{name: delays, patience: 3s, brokers: ["127.0.0.1:1"]}`, ""},
		{"{name: delays}", ""},
	} {
		writeFile(t, score, []byte("model: {kafka: "+c.model+"}\nsource: {kafka: {brokers: [\"127.0.0.1:1\"], topic: rows, group: scorers, patience: 100ms}}\noutput: {kafka: predictions}\n"))
		if c.says == "" {
			pacsgp(t, "lint", score).says(t, 0)
			continue
		}
		if a := pacsgp(t, "lint", score); a.status != exitConfig || !strings.HasPrefix(a.stdout, score+":1:") || !strings.Contains(a.stdout, c.says) {
			t.Errorf("lint says %d: %s", a.status, a.stdout)
		}
		pacsgp(t, "score", "-c", score).says(t, exitConfig, c.says)
	}
	job := tiny(jobFile{
		"source": `{kafka: {brokers: ["127.0.0.1:1"], topic: rows}}`, "features": "[x1]", "publish": "{kafka: {name: small, patience: 3s}}",
	}).write(t, dir)
	pacsgp(t, "train", "-c", job).says(t, exitConfig, "publish.kafka.patience: it is given without brokers")
}
