package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// records are the lines of a log, each of which has to be one.
func records(t *testing.T, log string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q is no record: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

// finished calls the command and returns all that main writes to standard error.
func finished(t *testing.T, args ...string) string {
	t.Helper()
	var out, log strings.Builder
	w := testSystem(&out, &log, plain())
	if err := run(t.Context(), args, w); err != nil {
		w.log.fail(&log, w.terminal > 0, err)
	}
	return log.String()
}

// Without a terminal a log is records to its end, each with the run's id and errors
// with their hints.
func TestLogHasOneFormat(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	all := records(t, finished(t, "train", "-c", job))
	all = append(slices.Clip(all), records(t, finished(t, "train", "-c", job))[:1]...)
	id := all[0]["run"]
	for _, r := range all[:len(all)-1] {
		if text, ok := r["run"].(string); !ok || len(text) != 12 || text != id {
			t.Errorf("a record without the run's id %q: %v", id, r)
		}
	}
	if all[len(all)-1]["run"] == id {
		t.Error("two runs have one id")
	}
	if got := record(t, filepath.Join(dir, "out")); got.Run == "" {
		t.Error("the run record does not name the run")
	}
	for name, args := range map[string][]string{
		"usage":  {"trian"},
		"job":    {"train", "-c", tiny(jobFile{"delta": "2"}).write(t, t.TempDir())},
		"source": {"train", "-c", tiny(nil).write(t, t.TempDir())},
		"flag":   {"train", "-c", job, "--log-level", "loud"},
		"format": {"train", "-c", job, "--log-format", "xml"},
	} {
		r := records(t, finished(t, args...))
		if len(r) != 1 || r[0]["level"] != "ERROR" || r[0]["status"] == 0.0 || r[0]["run"] == nil {
			t.Errorf("%s: %v", name, r)
		}
	}
	text := finished(t, "train", "-c", job, "--log-format", "text", "-o", job)
	if !strings.HasPrefix(text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:], "pacsgp: ") || strings.Contains(text, `{"time"`) {
		t.Errorf("as text: %q", text)
	}
}
