package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/certify"
)

// wholeSets are sets with their targets, and what a job on them has next to the defaults.
var wholeSets = []struct{ name, target, more string }{
	{"pol", "y", ""},
	{"kin40k", "y", ""},
	{"flights", "delay", "duplicates: keep\n"}, // whole minutes: some flights are equal
}

// whole trains on all rows of a set with the defaults. Each round has another key, and so other
// held-out rows.
func whole(ctx context.Context, b *bench) (string, error) {
	binary, err := measured.Build(ctx, b.work, b.log)
	if err != nil {
		return "", err
	}
	t := newTable("set", "key", "N", "M", "bound of a draw", "bound of predictions", "risk on held-out rows", "best constant's bound", "processor s", "peak MiB")
	for _, set := range wholeSets {
		data, err := filepath.Abs(filepath.Join(b.data, set.name))
		if err != nil {
			return "", err
		}
		for key := range b.rounds {
			dir := filepath.Join(b.work, fmt.Sprintf("whole-%s-%d", set.name, key))
			job := fmt.Sprintf("source: {paths: [%q]}\ntarget: %s\nloss: {epsilon: {std: 0.6}}\ndelta: 0.01\nsplit: {key: \"%d\"}\n%soutput: artifact\n",
				data, set.target, key, set.more)
			r, c, err := wholeRun(ctx, binary, dir, job)
			if err != nil {
				return "", fmt.Errorf("%s, key %d: %w", set.name, key, err)
			}
			draw, held := c.About(certify.PredictorDraw), c.About(certify.PredictorMean)
			seconds := (r.Process.UserTime() + r.Process.SystemTime()).Seconds()
			t.row(set.name, strconv.Itoa(key), strconv.FormatInt(draw.N, 10), strconv.Itoa(r.Training.Inducing),
				number(draw.Bound, "%.4f"), number(held.Bound, "%.4f"), number(*held.Risk, "%.4f"),
				number(held.Baseline, "%.4f"), number(seconds, "%.1f"), number(measured.Peak(r.Process), "%.0f"))
			b.logf("%s %d: %.4f, %.0f s", set.name, key, held.Bound, seconds)
		}
	}
	return "`pacsgp train` on all rows, ε = 0.6 standard deviations of the target, δ = 0.01; flights with `duplicates: keep`. Seconds are of the whole process on all processors.\n\n" + t.String(), nil
}

// wholeRun trains in a new folder, and returns the certificate.
func wholeRun(ctx context.Context, binary, dir, job string) (r measured.Run, c certify.Certificate, err error) {
	if err := os.RemoveAll(dir); err != nil { // with the log of earlier runs
		return r, c, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, c, err
	}
	if r, err = measured.Train(ctx, binary, dir, job); err != nil {
		return r, c, err
	}
	document, err := os.ReadFile(filepath.Join(dir, "artifact", r.Certificate))
	if err == nil {
		c, err = certify.Parse(document)
	}
	return r, c, err
}
