package main

import (
	"context"
	"errors"
)

// svgp compares an epoch of mini-batch training.
func svgp(ctx context.Context, b *bench) (_ string, err error) {
	ours, err := b.buildBench(ctx, "./model")
	if err != nil {
		return "", err
	}
	peers, err := b.startThreads(ctx, "svgp.py")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stop(peers)) }()
	t := newTable("GPyTorch in", "ours, s an epoch", "GPyTorch, 2 threads", "1 thread", "ratio")
	for _, c := range []struct {
		dtype  string
		target float64
	}{{"float64", 2}, {"float32", 0}} {
		turns := append([]turn{ours.turn(ctx, "BenchmarkEpoch", "s/epoch")}, peerTurns(peers, map[string]string{"dtype": c.dtype})...)
		m, err := b.interleave(ctx, turns)
		if err != nil {
			return "", err
		}
		ratio := m.medianOf(func(r round) float64 { return over(least(r["1"], r["2"]), r["ours"]) })
		t.row(c.dtype, number(m.median("ours"), "%.2f"), number(m.median("2"), "%.2f"), number(m.median("1"), "%.2f"), t.ratio(c.dtype, ratio, c.target))
	}
	return "An epoch of 32,000 rows with 8 features, M = 500, batches of 1,024, every parameter moving: our joint steps (natural gradient, bound, float64, 2 workers) and GPyTorch's tutorial SVGP (ELBO, Adam; the better of 1 and 2 threads). Wanted: half the time in float64.\n\n" + t.String(), nil
}
