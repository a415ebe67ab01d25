package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/ingest/synth"
)

// Settings of the jobs of scale.
const (
	scaleInducing = 200
	scaleFeatures = 3
	scaleBudget   = 256       // MiB
	scaleFile     = 1_000_000 // rows of a file
)

// scale shows that, for any number of rows, memory stays within the budget and the last pass takes the same
// time for a row.
func scale(ctx context.Context, b *bench) (string, error) {
	binary, err := measured.Build(ctx, b.work, b.log, "./cmd/pacsgp", "build")
	if err != nil {
		return "", err
	}
	generator, err := synth.New(synth.Config{Seed: 1, Features: scaleFeatures, Noise: 0.1})
	if err != nil {
		return "", err
	}
	sizes := []struct {
		n    int64
		runs int // in a round: one short pass says little
	}{{100_000, 5}, {1_000_000, 2}, {10_000_000, 1}}
	var found []rounds
	var perRow []float64 // µs of the last pass
	for _, size := range sizes {
		dir := filepath.Join(b.work, "scale-"+strconv.FormatInt(size.n, 10))
		if err := scaleRows(ctx, generator, dir, size.n); err != nil {
			return "", err
		}
		var m rounds
		for range min(b.rounds, 3) * size.runs {
			r, err := scaleRun(ctx, binary, dir)
			if err != nil {
				return "", err
			}
			m = append(m, r)
		}
		found, perRow = append(found, m), append(perRow, m.median("pass")/float64(size.n)*1e6)
		b.logf("%d rows: peak %.0f MiB, %.2f µs a row", size.n, m.median("train"), perRow[len(perRow)-1])
	}
	t := measured.Table{{"rows", "files, MiB", "train: peak MiB", "verify: peak MiB", "training, s", "last pass, s", "last pass, µs a row"}}
	last := perRow[len(perRow)-1]
	for i, m := range found {
		n, per, peak := sizes[i].n, perRow[i], m.median("train")
		t.Add(strconv.FormatInt(n, 10), number(m.median("disk"), "%.0f"), boldIf(peak > scaleBudget+scaleOverhead, number(peak, "%.0f")), number(m.median("verify"), "%.0f"),
			number(m.median("seconds"), "%.1f"), number(m.median("pass"), "%.2f"), boldIf(!(math.Abs(per/last-1) <= 0.05), number(per, "%.2f")))
	}
	return fmt.Sprintf("Generated rows of %d features in zstd files on disk, M = %d, a pass of joint steps, `memory: %dMiB`.\n\n", scaleFeatures, scaleInducing, scaleBudget) + t.String(), nil
}

// scaleOverhead is the memory, in MiB, that the process needs in addition to the rows: program, batch, shuffle
// buffer, matrices.
const scaleOverhead = 64

// scaleRows writes the rows, unless an earlier run has done so.
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

func scaleRun(ctx context.Context, binary, dir string) (round, error) {
	r, err := measured.Train(ctx, binary, dir, fmt.Sprintf("source: {paths: [rows]}\ntarget: y\nloss: {epsilon: {std: 0.6}}\ndelta: 0.01\nguarantees: pac-bayes\nrequire: draw\ninducing: %d\ntrain: {passes: 1}\nmemory: %dMiB\noutput: artifact\n", scaleInducing, scaleBudget))
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "artifact")
	verify := exec.CommandContext(ctx, binary, "verify", filepath.Join(out, r.Model), filepath.Join(out, r.Certificate), filepath.Join(dir, "rows"), "--require", "draw")
	if err := verify.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", verify, err)
	}
	files, _, err := lake.Files(ctx, []string{filepath.Join(dir, "rows")})
	disk := 0.0
	for _, f := range files {
		disk += float64(f.Bytes) / (1 << 20)
	}
	return round{
		"disk": disk, "train": measured.Peak(r.Process), "verify": measured.Peak(verify.ProcessState), "seconds": r.Diagnostics.Train, "pass": r.Diagnostics.LastPass,
	}, err
}
