package main

import (
	"encoding/json"
	"strings"
	"testing"
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
