package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// lastPass compares the way from rows to their expected losses.
func lastPass(ctx context.Context, b *bench) (_ string, err error) {
	ours, err := b.buildBench(ctx, "./model")
	if err != nil {
		return "", err
	}
	products, err := b.buildBench(ctx, "./model/internal/linalg")
	if err != nil {
		return "", err
	}
	set := instructionSets()[0]
	peers, err := b.startLibraries(ctx, set, 2)
	if err != nil {
		return "", err
	}
	torch, err := b.start(ctx, "torch", libraryEnvironment(set, 2), "lastpass.py")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stop(append(peers, torch))) }()
	t := newTable("d", "M", "ours, rows/s", "PyTorch, rows/s", "ratio", "dgemm, GFLOP/s", "ours of dgemm", "wanted", "PyTorch of dgemm")
	for _, d := range []int{8, 26} {
		for _, c := range []struct {
			m      int
			target float64
		}{{200, 0.5}, {500, 0.7}, {1000, 0.8}, {2000, 0.85}} {
			gemm := kernelCase{Kernel: "gemm", N: c.m, Rows: 4096, benchmark: "Gemm"}
			ourProduct := products.turn(ctx, gemm.name(set, 2), "GFLOP/s")
			ourProduct.name = "product"
			turns := append([]turn{ours.turn(ctx, fmt.Sprintf("BenchmarkLastPass/d=%d/M=%d/workers=2", d, c.m), "rows/s"), ourProduct}, peerTurns(peers, gemm)...)
			turns = append(turns, peerTurns([]*peer{torch}, map[string]int{"d": d, "M": c.m, "rows": 8192})...)
			found, err := b.interleave(ctx, turns)
			if err != nil {
				return "", err
			}
			product := func(r round) float64 { return max(r["product"], r["openblas"], r["mkl"]) }
			ofProduct := func(name string) float64 {
				return found.medianOf(func(r round) float64 {
					return over(2*float64(c.m)*float64(c.m)*r[name]/1e9, product(r))
				})
			}
			beside := found.medianOf(func(r round) float64 { return over(r["ours"], r["torch"]) })
			what := fmt.Sprintf("d=%d M=%d", d, c.m)
			b.logf("%s: %.0f rows/s, PyTorch %.0f; %.2f and %.2f of dgemm", what, found.median("ours"), found.median("torch"), ofProduct("ours"), ofProduct("torch"))
			t.row(strconv.Itoa(d), strconv.Itoa(c.m), number(found.median("ours"), "%.0f"), number(found.median("torch"), "%.0f"),
				t.ratio(what+", beside PyTorch", beside, 1), number(found.medianOf(product), "%.0f"),
				t.ratio(what+", of dgemm", ofProduct("ours"), c.target), fmt.Sprintf("%g", c.target), number(ofProduct("torch"), "%.2f"))
		}
	}
	return "Two cores. Wanted: ahead of PyTorch, and the given part of 2·M² operations a row at the best dgemm (4,096 × M by M × M; of ours, OpenBLAS and MKL) of the same minutes. " +
		"Ours takes half of those operations, one triangular product a row (model/paths.go); PyTorch two triangular solves or one full product, whichever is faster here.\n\n" + t.String(), nil
}
