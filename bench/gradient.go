package main

import (
	"context"
	"errors"
)

// gradient compares a gradient of kl-PAC-SGP, as L-BFGS asks for it.
func gradient(ctx context.Context, b *bench) (_ string, err error) {
	ours, err := b.buildBench(ctx, "./model")
	if err != nil {
		return "", err
	}
	peers, err := b.startThreads(ctx, "collapsed.py")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stop(peers)) }()
	m, err := b.interleave(ctx, append([]turn{ours.turn(ctx, "BenchmarkGradient", "cpu-s/gradient")}, peerTurns(peers, struct{}{})...))
	if err != nil {
		return "", err
	}
	t := newTable("ours, s of the processors a gradient", "PyTorch, 1 thread", "2 threads", "ratio")
	ratio := m.medianOf(func(r round) float64 { return over(least(r["1"], r["2"]), r["ours"]) })
	t.row(number(m.median("ours"), "%.2f"), number(m.median("1"), "%.2f"), number(m.median("2"), "%.2f"), t.ratio("kl-PAC-SGP", ratio, 4))
	return "A gradient of the bound of kl-PAC-SGP in all its parameters, 32,000 rows of 8 features as kin40k has, M = 500, float64: our three passes over blocks of 1,024 rows (2 workers), and PyTorch's autograd over all rows at once, within scipy's L-BFGS-B (the better of 1 and 2 threads). Seconds are those that the processors worked, which depend less than others on what else runs. Wanted: a quarter of the time.\n\n" + t.String(), nil
}
