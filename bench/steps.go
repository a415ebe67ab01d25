package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/pacsgp/pacsgp/bench/measured"
)

// compare measures a benchmark of package model and a script with one thread and with two, for each question.
// On a busy machine, two threads can be slower than one.
func (b *bench) compare(ctx context.Context, benchmark, unit, script string, questions ...any) (found []rounds, err error) {
	ours, err := b.buildBench(ctx, "./model")
	if err != nil {
		return nil, err
	}
	var peers []*peer
	defer func() { err = errors.Join(err, stop(peers)) }()
	for threads := 1; threads <= 2; threads++ {
		p, err := b.start(ctx, strconv.Itoa(threads), libraryEnvironment(threads), script)
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	for _, q := range questions {
		m, err := b.interleave(ctx, append([]measurement{ours.measurement(ctx, benchmark, unit)}, peerMeasurements(peers, q)...))
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	return found, nil
}

// betterOfThreads returns the time of the peer with one or two threads, whichever is less, divided by ours.
func betterOfThreads(m rounds) float64 {
	return m.medianOf(func(r round) float64 { return over(min(r["1"], r["2"]), r["ours"]) })
}

// svgp compares the time of an epoch of mini-batch training.
func svgp(ctx context.Context, b *bench) (string, error) {
	found, err := b.compare(ctx, "BenchmarkEpoch", "s/epoch", "svgp.py", map[string]string{"dtype": "float64"}, map[string]string{"dtype": "float32"})
	if err != nil {
		return "", err
	}
	t := measured.Table{{"GPyTorch in", "ours, s an epoch", "GPyTorch, 2 threads", "1 thread", "ratio"}}
	for i, m := range found {
		dtype, target := []string{"float64", "float32"}[i], []float64{2, 0}[i]
		t.Add(dtype, number(m.median("ours"), "%.2f"), number(m.median("2"), "%.2f"), number(m.median("1"), "%.2f"), ratioCell(betterOfThreads(m), target))
	}
	return "32,000 rows of 8 features, M = 500, batches of 1,024: our joint steps in float64 (2 workers), and GPyTorch's tutorial SVGP.\n\n" + t.String(), nil
}

// gradient compares the time of a gradient of kl-PAC-SGP, as L-BFGS needs it.
func gradient(ctx context.Context, b *bench) (string, error) {
	found, err := b.compare(ctx, "BenchmarkGradient", "cpu-s/gradient", "collapsed.py", struct{}{})
	if err != nil {
		return "", err
	}
	t, m := measured.Table{{"ours, s of the processors a gradient", "PyTorch, 1 thread", "2 threads", "ratio"}}, found[0]
	t.Add(number(m.median("ours"), "%.2f"), number(m.median("1"), "%.2f"), number(m.median("2"), "%.2f"), ratioCell(betterOfThreads(m), 4))
	return "The bound of kl-PAC-SGP in all its parameters, 32,000 rows of 8 features, M = 500, float64: our three passes, and PyTorch's autograd within scipy's L-BFGS-B.\n\n" + t.String(), nil
}
