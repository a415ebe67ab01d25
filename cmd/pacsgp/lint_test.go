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

// Schedule and score files are told from jobs by their keys, and checked as theirs; faults
// stand in lines with their places, and without what variables hold.
func TestLintTellsAll(t *testing.T) {
	dir := t.TempDir()
	job, good, schedule, score := filepath.Join(dir, "job.yaml"), filepath.Join(dir, "good.yaml"), filepath.Join(dir, "schedule.yaml"), filepath.Join(dir, "score.yaml")
	writeFile(t, job, []byte("source: {paths: [lake]}\ntarget: y\nloss: {epsilon: 0}\nlimit: ${LIMIT}\noutput: out/\n"))
	writeFile(t, good, []byte("source: {paths: [lake]}\ntarget: y\nloss: {epsilon: 1}\ndelta: 0.1\noutput: out/\n"))
	writeFile(t, schedule, []byte("record: schedule.db\njobs:\n  - name: a\n    job: good.yaml\n    triggers: [{evry: 6h}, {every: 6h}]\n"))
	writeFile(t, score, []byte("model: out/\nsource: {paths: [rows]}\nkeep: [a, a]\noutput: scored/\n"))
	a := pacsgpOn(t, plain(), map[string]string{"LIMIT": "77123"}, "lint", job, good, schedule, score)
	var got []string
	for line := range strings.Lines(a.stdout) {
		place, words, _ := strings.Cut(strings.TrimPrefix(line, dir+"/"), ": ")
		got = append(got, place+" "+words[:min(len(words)-1, 24)])
	}
	want := []string{
		"job.yaml:1:1 delta: say the confidenc", "job.yaml:3:17 loss.epsilon: 0 is not p", "job.yaml:4:8 limit: ${LIMIT} is no bo",
		`schedule.yaml:5:17 unknown field "evry"; di`, `score.yaml:3:11 keep[1]: "a" is named tw`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, a.stdout)
	}
	if a.status != exitConfig || strings.Contains(a.stdout+a.message, "77123") || !strings.Contains(a.message, "5 faults in 3 files") {
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
