package main

import (
	"path/filepath"
	"testing"
)

// predictionsFile is what the command predict of [writers] writes.
const predictionsFile = "predictions.parquet"

// A writer is a command that writes into a directory, and what it writes there if
// nothing goes wrong.
type writer struct {
	args   func(out string) []string
	want   map[string]string
	stride int // between the operations at which tests let it fail: 1 is each
}

// writers are all commands that write. (The demo trains as train does.)
func writers(t *testing.T) map[string]writer {
	t.Helper()
	a := trained(t)
	job := tiny(nil).write(t, a.dir)
	dir := t.TempDir()
	smallLake(t, dir)
	sweep := tiny(jobFile{"sweep": "[{features: [x1, x2]}, {kernel: {isotropic: true}}]", "train": "{passes: 1}"}).write(t, dir)
	all := map[string]writer{
		"train": {args: func(out string) []string { return []string{"train", "-c", job, "-o", out} }, stride: 1},
		"sweep": {args: func(out string) []string { return []string{"train", "-c", sweep, "-o", out} }, stride: 4},
		"predict": {args: func(out string) []string {
			return []string{"predict", a.model, a.certificate, a.lake, "-o", filepath.Join(out, predictionsFile)}
		}, stride: 1},
	}
	for name, w := range all {
		out := t.TempDir()
		succeed(t, w.args(out)...)
		w.want = published(t, out)
		if len(w.want) == 0 {
			t.Fatalf("%s writes nothing", name)
		}
		all[name] = w
	}
	return all
}

// complete checks a directory after a run that came to its end.
func (c writer) complete(t *testing.T, when, out string) {
	t.Helper()
	complete(t, when, out, c.want)
}
