package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/model"
)

// lastPass compares how fast rows become expected losses.
func lastPass(ctx context.Context, b *bench) (_ string, err error) {
	ours, err := b.buildBench(ctx, "./model")
	if err != nil {
		return "", err
	}
	products, err := b.buildBench(ctx, "./model/internal/linalg")
	if err != nil {
		return "", err
	}
	peers, err := b.startLibraries(ctx, 2)
	if err != nil {
		return "", err
	}
	torch, err := b.start(ctx, "torch", libraryEnvironment(2), "lastpass.py")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stop(append(peers, torch))) }()
	t := measured.Table{{"M", "ours, rows/s", "PyTorch, rows/s", "ratio", "ours of dgemm", "PyTorch of dgemm"}}
	for _, c := range []struct {
		m      int
		target float64
	}{{200, 0.5}, {500, 0.7}, {1000, 0.8}, {2000, 0.85}} {
		const rows = 4096
		ourProduct := products.measurement(ctx, fmt.Sprintf("BenchmarkGemm/%s/n=%d/rows=%d/workers=2", model.InstructionSet(), c.m, rows), "GFLOP/s")
		ourProduct.name = "product"
		measurements := append([]measurement{ours.measurement(ctx, fmt.Sprintf("BenchmarkLastPass/d=8/M=%d/workers=2", c.m), "rows/s"), ourProduct}, peerMeasurements(peers, map[string]int{"n": c.m, "rows": rows})...)
		measurements = append(measurements, peerMeasurements([]*peer{torch}, map[string]int{"d": 8, "M": c.m, "rows": 8192})...)
		found, err := b.interleave(ctx, measurements)
		if err != nil {
			return "", err
		}
		product := func(r round) float64 { return max(r["product"], r["openblas"], r["mkl"]) }
		ofProduct := func(name string) float64 {
			return found.medianOf(func(r round) float64 {
				return over(2*float64(c.m)*float64(c.m)*r[name]/1e9, product(r))
			})
		}
		ratio := found.medianOf(func(r round) float64 { return over(r["ours"], r["torch"]) })
		b.logf("M=%d: %.0f rows/s, PyTorch %.0f; %.2f and %.2f of dgemm", c.m, found.median("ours"), found.median("torch"), ofProduct("ours"), ofProduct("torch"))
		t.Add(strconv.Itoa(c.m), number(found.median("ours"), "%.0f"), number(found.median("torch"), "%.0f"),
			ratioCell(ratio, 1), ratioCell(ofProduct("ours"), c.target), number(ofProduct("torch"), "%.2f"))
	}
	return "Two cores, 8 features; \"of dgemm\" is the share of 2·M² operations a row at the speed of the best dgemm of the same minutes.\n\n" + t.String(), nil
}
