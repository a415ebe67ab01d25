package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/internal/dataset"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/measured"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

// job declares defaults, ε = 0.6 standard deviations, δ = 0.01.
func (s set) job(data string) string {
	text := fmt.Sprintf("source: {paths: [%s]}\ntarget: %s\nloss: {epsilon: {std: 0.6}}\ndelta: 0.01\noutput: artifact\n",
		strconv.Quote(data), strconv.Quote(s.target))
	if s.copies != "" {
		text += "copies: " + s.copies + "\n"
	}
	return text
}

// measure runs the command on one split and then looks at the rest of the rows.
func measure(ctx context.Context, binary, data, work string, s set, seed int) (measurement, error) {
	dir := filepath.Join(work, fmt.Sprintf("%s-%d", s.name, seed))
	if err := os.RemoveAll(dir); err != nil {
		return measurement{}, err
	}
	all, err := dataset.Read(ctx, data)
	if err != nil {
		return measurement{}, err
	}
	rows, apart := splitRows(all, seed)
	train, err := filepath.Abs(filepath.Join(dir, "train"))
	if err != nil {
		return measurement{}, err
	}
	if err := writeLake(rows, train); err != nil {
		return measurement{}, err
	}
	r, err := measured.Train(ctx, binary, dir, s.job(train))
	if err != nil {
		return measurement{}, err
	}
	m, err := evaluate(ctx, dir, apart, r, s.target)
	m.Seed, m.Inducing, m.Steps = seed, r.Training.Inducing, r.Training.Steps
	m.Instructions = r.Diagnostics.Instructions
	m.PeakMiB, m.Seconds = int64(measured.Peak(r.Process)), (r.Process.UserTime() + r.Process.SystemTime()).Seconds()
	return m, err
}

// evaluate reads the certificate and then, for the first time, the rows kept apart.
func evaluate(ctx context.Context, dir string, apart dataset.Table, r measured.Run, target string) (measurement, error) {
	doc, err := os.ReadFile(filepath.Join(dir, "artifact", r.Certificate)) //nolint:gosec // what the run wrote
	if err != nil {
		return measurement{}, err
	}
	c, err := certify.Parse(doc)
	if err != nil {
		return measurement{}, err
	}
	bytesOfModel, err := os.ReadFile(filepath.Join(dir, "artifact", r.Model)) //nolint:gosec // what the run wrote
	if err != nil {
		return measurement{}, err
	}
	model, err := sink.DecodeModel(bytesOfModel)
	if err != nil {
		return measurement{}, err
	}
	fresh := filepath.Join(dir, "fresh")
	if err := writeLake(apart, fresh); err != nil {
		return measurement{}, err
	}
	src, err := lake.Open(ctx, lake.Config{Paths: []string{fresh}, Features: model.Meta.FeatureNames(), Target: target})
	if err != nil {
		return measurement{}, err
	}
	found, err := pipeline.Evaluate(ctx, src, model, runtime.NumCPU())
	if err != nil {
		return measurement{}, err
	}
	draw := c.About(certify.PredictorDraw)
	scale := model.Meta.Target.Scale
	m := measurement{
		N: draw.N, Status: draw.Status, Bound: draw.Bound, Mean: c.About(certify.PredictorMean).Bound,
		Holdout: c.Best(certify.PredictorMean).Bound, Baseline: c.Baseline.Bound,
		Fresh: found.Draw, FreshMean: found.Mean, FreshSquared: found.Squared / (scale * scale),
	}
	if !(m.Fresh <= m.Bound) || !(m.FreshMean <= m.Mean) {
		return m, fmt.Errorf("the risks on fresh rows, %v and %v, are above the bounds %v and %v", m.Fresh, m.FreshMean, m.Bound, m.Mean)
	}
	return m, nil
}

// refusal runs a job that must be refused, and returns the message.
func refusal(ctx context.Context, binary, data, work string, s set) (string, error) {
	dir := filepath.Join(work, "refused")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // results are for everybody to read
		return "", err
	}
	path, err := filepath.Abs(data)
	if err != nil {
		return "", err
	}
	if _, err = measured.Train(ctx, binary, dir, s.job(path)); err == nil {
		return "", errors.New(s.name + " was not refused")
	}
	return strings.ReplaceAll(err.Error(), path, s.path), nil
}
