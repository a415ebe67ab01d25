package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/model"
)

// instructionSets are those of ours to compare: the processor's, and AVX2 on
// a machine with AVX-512.
func instructionSets() []string {
	if set := model.InstructionSet(); set != "avx512" {
		return []string{set}
	}
	return []string{"avx512", "avx2"}
}

// libraryEnvironment holds the peers' libraries to threads and an instruction
// set. OpenBLAS takes processors that it does not know for older ones, so it is
// told what this one can do.
func libraryEnvironment(set string, threads int) []string {
	n := strconv.Itoa(threads)
	env := []string{"OPENBLAS_NUM_THREADS=" + n, "MKL_NUM_THREADS=" + n, "OMP_NUM_THREADS=" + n}
	switch set {
	case "avx512":
		env = append(env, "OPENBLAS_CORETYPE=SkylakeX")
	case "avx2":
		env = append(env, "OPENBLAS_CORETYPE=Haswell", "MKL_ENABLE_INSTRUCTIONS=AVX2", "ATEN_CPU_CAPABILITY=avx2")
	}
	return env
}

// startLibraries starts OpenBLAS and MKL.
func (b *bench) startLibraries(ctx context.Context, set string, threads int) ([]*peer, error) {
	var peers []*peer
	var failed error
	for _, library := range []string{"openblas", "mkl"} {
		p, err := b.start(ctx, library, libraryEnvironment(set, threads), "kernels.py", library)
		peers, failed = append(peers, p), errors.Join(failed, err)
	}
	return peers, failed
}

// A kernelCase is one shape of one kernel, as the peers are asked for it.
type kernelCase struct {
	Kernel string `json:"kernel"`
	N      int    `json:"n"`
	Rows   int    `json:"rows,omitempty"`

	benchmark string
	target    float64
}

func kernelCases() []kernelCase {
	var cases []kernelCase
	for _, k := range []struct {
		kernel, benchmark string
		target            float64 // from M = 500 on
		rows              []int
	}{
		{"gemm", "Gemm", 0.8, []int{512, 4096}}, {"syrk", "Syrk", 0.8, []int{512, 4096}}, {"trsm", "Trsm", 0.8, []int{512, 4096}}, {"cholesky", "Cholesky", 0.6, []int{0}},
	} {
		for _, n := range []int{100, 500, 1000, 2000} {
			target := k.target
			if n < 500 {
				target = 0
			}
			for _, rows := range k.rows {
				cases = append(cases, kernelCase{k.kernel, n, rows, k.benchmark, target})
			}
		}
	}
	return cases
}

// name is the Go benchmark's.
func (c kernelCase) name(set string, workers int) string {
	rows := ""
	if c.Rows > 0 {
		rows = fmt.Sprintf("/rows=%d", c.Rows)
	}
	return fmt.Sprintf("Benchmark%s/%s/n=%d%s/workers=%d", c.benchmark, set, c.N, rows, workers)
}

// kernels compares dgemm, dsyrk, dtrsm and Cholesky.
func kernels(ctx context.Context, b *bench) (string, error) {
	ours, err := b.buildBench(ctx, "./model/internal/linalg")
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString("GFLOP/s, beside the better of OpenBLAS and MKL. Wanted from M = 500 on: 0.8 of it, 0.6 for Cholesky.\n" +
		"MKL's dsyrk is not among the routines that PyTorch exports: its column is dgemm on the blocks of a triangle.\n")
	for _, set := range instructionSets() {
		t, err := b.kernelTable(ctx, ours, set)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "\nInstruction set %s:\n\n%s", set, t)
	}
	return text.String(), nil
}

func (b *bench) kernelTable(ctx context.Context, ours *goBench, set string) (_ *table, err error) {
	byThreads := [2][]*peer{}
	for i := range byThreads {
		peers, err := b.startLibraries(ctx, set, i+1)
		if err != nil {
			return nil, err
		}
		byThreads[i] = peers
		defer func() { err = errors.Join(err, stop(peers)) }()
	}
	t := newTable("kernel", "M", "rows", "1 core: ours", "OpenBLAS", "MKL", "ratio", "2 cores: ours", "OpenBLAS", "MKL", "ratio")
	for _, c := range kernelCases() {
		cells := []string{c.Kernel, strconv.Itoa(c.N), number(float64(c.Rows), "%.0f")}
		for i, peers := range byThreads {
			turns := append([]turn{ours.turn(ctx, c.name(set, i+1), "GFLOP/s")}, peerTurns(peers, c)...)
			m, err := b.interleave(ctx, turns)
			if err != nil {
				return nil, err
			}
			what := fmt.Sprintf("%s M=%d rows=%d, %d cores", c.Kernel, c.N, c.Rows, i+1)
			ratio := m.medianOf(func(r round) float64 { return over(r["ours"], max(r["openblas"], r["mkl"])) })
			b.logf("%s %s: %.1f, OpenBLAS %.1f, MKL %.1f, ratio %.2f", set, what, m.median("ours"), m.median("openblas"), m.median("mkl"), ratio)
			for _, name := range []string{"ours", "openblas", "mkl"} {
				cells = append(cells, number(m.median(name), "%.1f"))
			}
			cells = append(cells, t.ratio(what, ratio, c.target))
		}
		t.row(cells...)
	}
	return t, nil
}
