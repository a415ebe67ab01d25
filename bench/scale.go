package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/measured"
)

// The jobs of scale.
const (
	scaleInducing = 200
	scaleFeatures = 3
	scaleBudget   = 256 // MiB
	scaleFile     = 1_000_000
)

// scale shows that memory stays within the budget and the last pass takes the
// same time a row, however many rows there are.
func scale(ctx context.Context, b *bench) (string, error) {
	binary, err := measured.Build(ctx, b.work, b.log)
	if err != nil {
		return "", err
	}
	generator, err := synth.New(synth.Config{Seed: 1, Features: scaleFeatures, Noise: 0.1})
	if err != nil {
		return "", err
	}
	t := newTable("rows", "files, MiB", "train: peak MiB", "verify: peak MiB", "training, s", "last pass, s", "last pass, µs a row", "of that with most rows")
	type row struct {
		n                   int64
		disk, train, verify float64
		seconds, pass, per  float64
	}
	var found []row
	for _, size := range []struct {
		n    int64
		runs int // a round: short passes say little alone
	}{{100_000, 5}, {1_000_000, 2}, {10_000_000, 1}} {
		n := size.n
		dir := filepath.Join(b.work, "scale-"+strconv.FormatInt(n, 10))
		if err := scaleRows(ctx, generator, dir, n); err != nil {
			return "", err
		}
		var m rounds
		for range min(b.rounds, 3) * size.runs {
			r, err := undisturbed(func() (round, error) { return scaleRun(ctx, binary, dir) })
			if err != nil {
				return "", err
			}
			m = append(m, r)
		}
		found = append(found, row{n, m.median("disk"), m.median("train"), m.median("verify"), m.median("seconds"), m.median("pass"), m.median("pass") / float64(n) * 1e6})
		b.logf("%d rows: peak %.0f MiB, %.2f µs a row", n, m.median("train"), m.median("pass")/float64(n)*1e6)
	}
	last := found[len(found)-1]
	for _, r := range found {
		t.row(strconv.FormatInt(r.n, 10), number(r.disk, "%.0f"), number(r.train, "%.0f"), number(r.verify, "%.0f"),
			number(r.seconds, "%.1f"), number(r.pass, "%.2f"), number(r.per, "%.2f"), number(r.per/last.per, "%.2f"))
		if r.train > scaleBudget+scaleOverhead {
			t.missed = append(t.missed, fmt.Sprintf("%d rows: peak of %.0f MiB", r.n, r.train))
		}
		if off := r.per/last.per - 1; off > 0.05 || off < -0.05 {
			t.missed = append(t.missed, fmt.Sprintf("%d rows: %.2f µs a row beside %.2f", r.n, r.per, last.per))
		}
	}
	return fmt.Sprintf("Generated rows of %d features in zstd files on disk, M = %d, a pass of joint steps, `memory: %dMiB` for rows kept between passes. Peak memory is the process's. "+
		"Wanted: at most the budget and the same %d MiB at every size; the time a row of the last pass (reading, digest, risk) flat within 5 %%. Each size trains a model of its own: the more rows, the sharper it is.\n\n", scaleFeatures, scaleInducing, scaleBudget, scaleOverhead) + t.String(), nil
}

// scaleOverhead is what the process takes beside the rows: program, batch,
// shuffle buffer, matrices. MiB.
const scaleOverhead = 64

// scaleRows writes the rows, unless an earlier run has.
func scaleRows(ctx context.Context, g *synth.Generator, dir string, n int64) error {
	done := filepath.Join(dir, "rows", "_SUCCESS")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	files := int((n + scaleFile - 1) / scaleFile)
	if err := g.WriteLake(ctx, filepath.Join(dir, "rows"), files, 0, n); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

// scaleRun trains and verifies once.
func scaleRun(ctx context.Context, binary, dir string) (round, error) {
	job := filepath.Join(dir, "job.yaml")
	out := filepath.Join(dir, "artifact")
	text := fmt.Sprintf("source: {paths: [rows]}\ntarget: y\nloss: {epsilon: {std: 0.6}}\ndelta: 0.01\nguarantees: pac-bayes\njudge: draw\ninducing: %d\ntrain: {passes: 1}\nmemory: %dMiB\noutput: artifact\n", scaleInducing, scaleBudget)
	if err := errors.Join(os.WriteFile(job, []byte(text), 0o644), os.RemoveAll(out)); err != nil {
		return nil, err
	}
	stdout, train, err := peakOf(exec.CommandContext(ctx, binary, "train", "-c", job, "--json"))
	if err != nil {
		return nil, err
	}
	var record struct {
		Model       string `json:"model"`
		Certificate string `json:"certificate"`
		Diagnostics struct {
			Train    float64 `json:"train_seconds"`
			LastPass float64 `json:"last_pass_seconds"`
		} `json:"diagnostics"`
	}
	if err := json.Unmarshal(stdout, &record); err != nil {
		return nil, err
	}
	_, verify, err := peakOf(exec.CommandContext(ctx, binary, "verify", filepath.Join(out, record.Model), filepath.Join(out, record.Certificate), filepath.Join(dir, "rows"), "--judge", "draw"))
	if err != nil {
		return nil, err
	}
	disk, err := sizeOf(filepath.Join(dir, "rows"))
	return round{"disk": disk, "train": train, "verify": verify, "seconds": record.Diagnostics.Train, "pass": record.Diagnostics.LastPass}, err
}

// peakOf runs a command, and returns its output and its peak memory in MiB.
func peakOf(cmd *exec.Cmd) (stdout []byte, peak float64, err error) {
	stdout, err = cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", cmd, err)
	}
	return stdout, measured.Peak(cmd.ProcessState), nil
}

// sizeOf is the size of a folder's files in MiB.
func sizeOf(dir string) (float64, error) {
	entries, err := os.ReadDir(dir)
	sum := 0.0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		sum += float64(info.Size()) / (1 << 20)
	}
	return sum, err
}
