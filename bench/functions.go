package main

import (
	"context"
	"errors"
	"fmt"
)

// functions compares exp and the normal distribution function.
func functions(ctx context.Context, b *bench) (string, error) {
	ours, err := b.buildBench(ctx, "./model/internal/linalg")
	if err != nil {
		return "", err
	}
	t := newTable("function", "instruction set", "ours, ns a value", "PyTorch", "ratio", "Go's math", "ratio")
	for _, set := range instructionSets() {
		if err := b.functionRows(ctx, t, ours, set); err != nil {
			return "", err
		}
	}
	return "One core, 2²⁰ values in pieces that stay in cache.\n\n" + t.String(), nil
}

func (b *bench) functionRows(ctx context.Context, t *table, ours *goBench, set string) (err error) {
	torch, err := b.start(ctx, "torch", libraryEnvironment(set, 1), "functions.py")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop([]*peer{torch})) }()
	for _, f := range []struct {
		label, name, plain, peer string
		target                   float64 // of plain
	}{
		{"exp", "Exp", "math.Exp", "exp", 6},
		{"normal distribution", "NormCDF", "math.Erfc", "cdf", 0},
	} {
		plain := ours.turn(ctx, "BenchmarkFunctions/"+f.plain, "ns/value")
		plain.name = "plain"
		turns := append([]turn{ours.turn(ctx, fmt.Sprintf("BenchmarkFunctions/%s/%s", set, f.name), "ns/value"), plain},
			peerTurns([]*peer{torch}, map[string]string{"function": f.peer})...)
		m, err := b.interleave(ctx, turns)
		if err != nil {
			return err
		}
		slower := func(name string) float64 {
			return m.medianOf(func(r round) float64 { return over(r[name], r["ours"]) })
		}
		t.row(f.label, set, number(m.median("ours"), "%.2f"), number(m.median("torch"), "%.2f"), ratioCell(slower("torch"), 1),
			number(m.median("plain"), "%.2f"), ratioCell(slower("plain"), f.target))
	}
	return nil
}
