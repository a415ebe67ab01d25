package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// What commands of [writers] write beside artifacts.
const (
	predictionsFile = "predictions.parquet"
	partOfPass      = "part-1"
	badRowsFile     = "bad.parquet"
)

// A writer is a command that writes into a directory, and what it writes there if
// nothing goes wrong.
type writer struct {
	args   func(out string) []string
	want   map[string]string
	also   []string // files whose bytes are the same each time, beside artifacts
	beside []string // files that stand there at the end, whatever is in them
	file   bool     // it writes one file, and owns no directory that it could clear up
	stride int      // between the operations at which tests let it fail: 1 is each
}

// writers are all commands that write.
func writers(t *testing.T) map[string]writer {
	t.Helper()
	a := trained(t)
	job := tiny(nil).write(t, a.dir)
	dir := t.TempDir()
	smallLake(t, dir)

	// The last pass in parts goes on from what training left.
	fitted := t.TempDir()
	succeed(t, "train", "-c", job, "-o", fitted, "--no-pass")
	part := filepath.Join(t.TempDir(), partOfPass)
	succeed(t, "pass", "-c", job, "--from", fitted, "-o", part)
	handover := []string{sinklake.HandoverFile, sinklake.HandoverModel}

	odd := t.TempDir()
	rows := lines(600)
	x1 := append([]float64{}, rows["x1"].([]float64)...)
	x1[11] = math.Inf(1)
	rows.with("x1", x1).write(t, lakeFile(odd, 0))

	cluster := smallTopic(t)
	brokers := cluster.ListenAddrs()[0]
	shelf := t.TempDir()
	topics := fromTopic(cluster, jobFile{"kafka": fmt.Sprintf("{brokers: [%q]}", brokers), "publish": "{kafka: {name: tiny}}"}).write(t, shelf)
	succeed(t, "topics", "-c", topics)
	succeed(t, "train", "-c", topics)

	all := map[string]writer{
		"train without its pass": {
			args: func(out string) []string { return []string{"train", "-c", job, "-o", out, "--no-pass"} },
			also: []string{sinklake.HandoverModel}, beside: []string{sinklake.HandoverFile}, stride: 2, // the handover has a secret of its own each time
		},
		"pass": {
			args: func(out string) []string {
				return []string{"pass", "-c", job, "--from", fitted, "-o", filepath.Join(out, partOfPass)}
			},
			also: []string{partOfPass}, file: true, stride: 1,
		},
		"certify": {
			args: func(out string) []string {
				for _, name := range handover {
					if _, err := os.Stat(filepath.Join(out, name)); err != nil {
						writeFile(t, filepath.Join(out, name), readFile(t, filepath.Join(fitted, name)))
					}
				}
				return []string{"certify", "-c", job, "-o", out, part}
			},
			also: handover, beside: []string{"log.json"}, stride: 1,
		},
		"bad rows": {
			args: func(out string) []string {
				to := fmt.Sprintf("{tolerance: 1 %%, to: %q}", filepath.Join(out, badRowsFile))
				return []string{"train", "-c", tiny(jobFile{"loss": "{epsilon: 8}", "bad_rows": to, "train": "{passes: 1}"}).write(t, odd), "-o", out}
			},
			also: []string{badRowsFile}, stride: 3,
		},
		"pull": {
			args: func(out string) []string { return []string{"pull", "tiny", "--kafka", brokers, "-o", out} }, stride: 1,
		},
		"predict": {
			args: func(out string) []string {
				return []string{"predict", a.model, a.certificate, a.lake, "-o", filepath.Join(out, predictionsFile)}
			},
			also: []string{predictionsFile}, file: true, stride: 1,
		},
	}
	for name, w := range all {
		out := t.TempDir()
		succeed(t, w.args(out)...)
		w.want = published(t, out, w.also...)
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
	complete(t, when, out, c.want, c.beside...)
}
