package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

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
	for _, k := range []kernelCase{{"gemm", 0, 4096, "Gemm", 0.8}, {"syrk", 0, 4096, "Syrk", 0.8}, {"trsm", 0, 4096, "Trsm", 0.8}, {"cholesky", 0, 0, "Cholesky", 0.6}} {
		for _, k.N = range []int{500, 2000} {
			cases = append(cases, k)
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
func kernels(ctx context.Context, b *bench) (_ string, err error) {
	ours, err := b.buildBench(ctx, "./model/internal/linalg")
	if err != nil {
		return "", err
	}
	type column struct {
		set   string
		cores int
		peers []*peer
	}
	var columns []column
	head := []string{"kernel", "M"}
	defer func() {
		for _, k := range columns {
			err = errors.Join(err, stop(k.peers))
		}
	}()
	for _, set := range instructionSets() {
		for cores := 1; cores <= 2; cores++ {
			peers, err := b.startLibraries(ctx, set, cores)
			if err != nil {
				return "", err
			}
			columns = append(columns, column{set, cores, peers})
			head = append(head, fmt.Sprintf("%s, %d cores", set, cores), "ratio")
		}
	}
	t := newTable(head...)
	for _, c := range kernelCases() {
		cells := []string{c.Kernel, strconv.Itoa(c.N)}
		for _, k := range columns {
			m, err := b.interleave(ctx, append([]turn{ours.turn(ctx, c.name(k.set, k.cores), "GFLOP/s")}, peerTurns(k.peers, c)...))
			if err != nil {
				return "", err
			}
			ratio := m.medianOf(func(r round) float64 { return over(r["ours"], max(r["openblas"], r["mkl"])) })
			b.logf("%s %s M=%d, %d cores: %.1f, OpenBLAS %.1f, MKL %.1f, ratio %.2f", k.set, c.Kernel, c.N, k.cores, m.median("ours"), m.median("openblas"), m.median("mkl"), ratio)
			cells = append(cells, number(m.median("ours"), "%.1f"), ratioCell(ratio, c.target))
		}
		t.row(cells...)
	}
	return "Ours in GFLOP/s on 4,096 rows, and the ratio to the better of OpenBLAS and MKL; bold: below 0.8, Cholesky below 0.6.\n\n" + t.String(), nil
}
