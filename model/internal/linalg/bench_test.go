package linalg

import (
	"fmt"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// benchWorkers runs what prepare returns with one and two workers as sub-benchmarks and
// reports GFLOP/s. Only a benchmark that runs is prepared for.
func benchWorkers(b *testing.B, name string, flops float64, prepare func() func(p *Pool)) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
			p := NewPool(workers)
			defer p.Close()
			f := prepare()
			b.ReportAllocs()
			for b.Loop() {
				f(p)
			}
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// benchSets runs f for every instruction set.
func benchSets(b *testing.B, f func(b *testing.B)) {
	before := InstructionSet()
	defer func() {
		fatal.If(b, UseInstructionSet(before))
	}()
	for _, name := range InstructionSets() {
		fatal.If(b, UseInstructionSet(name))
		b.Run(name, f)
	}
}

// benchSizes are the sides of the triangles and squares.
func benchSizes() []int {
	if testing.Short() {
		return []int{100, 500}
	}
	return []int{100, 200, 500, 1000, 2000}
}

// benchRows are the numbers of rows of a block, the model's first.
func benchRows() []int {
	if testing.Short() {
		return []int{512}
	}
	return []int{512, 4096}
}

// benchBlocks runs f for every instruction set, size and number of rows.
func benchBlocks(b *testing.B, f func(b *testing.B, name string, n, rows int)) {
	benchSets(b, func(b *testing.B) {
		for _, n := range benchSizes() {
			for _, rows := range benchRows() {
				f(b, fmt.Sprintf("n=%d/rows=%d", n, rows), n, rows)
			}
		}
	})
}

func randNormal(rows, cols int) Mat {
	r, m := newRand(), NewMat(rows, cols)
	for i := range m.Data {
		m.Data[i] = r.NormFloat64()
	}
	return m
}

func BenchmarkGemm(b *testing.B) {
	benchBlocks(b, func(b *testing.B, name string, n, rows int) {
		benchWorkers(b, name, 2*float64(rows)*float64(n)*float64(n), func() func(p *Pool) {
			x, y, c := randNormal(rows, n), randNormal(n, n), NewMat(rows, n)
			return func(p *Pool) { p.Gemm(false, false, 1, x, y, 0, c) }
		})
	})
}

func BenchmarkSyrk(b *testing.B) {
	benchBlocks(b, func(b *testing.B, name string, n, rows int) {
		benchWorkers(b, name, float64(rows)*float64(n)*float64(n), func() func(p *Pool) {
			x, c := randNormal(rows, n), NewMat(n, n)
			return func(p *Pool) { p.Syrk(true, 1, x, 0, c) }
		})
	})
}

// BenchmarkCholesky includes the copy of the matrix that is overwritten.
func BenchmarkCholesky(b *testing.B) {
	benchSets(b, func(b *testing.B) {
		for _, n := range benchSizes() {
			benchWorkers(b, fmt.Sprintf("n=%d", n), float64(n)*float64(n)*float64(n)/3, func() func(p *Pool) {
				a, c := NewMat(n, n), NewMat(n, n)
				p := NewPool(1)
				defer p.Close()
				p.Syrk(false, 1, lowerOnly(randLower(newRand(), n, 0)), 0, a)
				return func(p *Pool) {
					copy(c.Data, a.Data)
					if !p.Cholesky(c) {
						b.Fatal("not positive definite")
					}
				}
			})
		}
	})
}
