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
	folder string // where artifacts stand in out
	talks  bool   // it prints what it does before it is done
	stride int    // between the operations at which tests let it fail: 1 is each
}

// in is where the command leaves its artifacts.
func (c writer) in(out string) string { return filepath.Join(out, c.folder) }

// writers are all commands that write.
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
		"demo": {args: func(out string) []string { return []string{"demo", "-o", out} }, folder: "artifact", talks: true, stride: 10},
	}
	for name, w := range all {
		out := t.TempDir()
		succeed(t, w.args(out)...)
		w.want = published(t, w.in(out))
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
	complete(t, when, c.in(out), c.want)
}
