package linalg

import (
	"fmt"
	"math"
	"testing"
)

// benchWorkers runs f with one and two workers as sub-benchmarks and reports GFLOP/s.
func benchWorkers(b *testing.B, name string, flops float64, f func(p *Pool)) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
			p := NewPool(workers)
			defer p.Close()
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
		if err := UseInstructionSet(before); err != nil {
			b.Fatal(err)
		}
	}()
	for _, name := range InstructionSets() {
		if err := UseInstructionSet(name); err != nil {
			b.Fatal(err)
		}
		b.Run(name, f)
	}
}

var benchSizes = []int{100, 500, 1000, 2000}

// blockRows is a row block of the model.
const blockRows = 512

func randNormal(rows, cols int) Mat {
	r, m := newRand(), NewMat(rows, cols)
	for i := range m.Data {
		m.Data[i] = r.NormFloat64()
	}
	return m
}

func BenchmarkGemm(b *testing.B) {
	benchSets(b, func(b *testing.B) {
		for _, n := range benchSizes {
			x, y, c := randNormal(blockRows, n), randNormal(n, n), NewMat(blockRows, n)
			benchWorkers(b, fmt.Sprintf("n=%d", n), 2*blockRows*float64(n)*float64(n), func(p *Pool) {
				p.Gemm(false, false, 1, x, y, 0, c)
			})
		}
	})
}

func BenchmarkSyrk(b *testing.B) {
	benchSets(b, func(b *testing.B) {
		for _, n := range benchSizes {
			x, c := randNormal(blockRows, n), NewMat(n, n)
			benchWorkers(b, fmt.Sprintf("n=%d", n), blockRows*float64(n)*float64(n), func(p *Pool) {
				p.Syrk(true, 1, x, 0, c)
			})
		}
	})
}

// benchLower returns a lower triangle whose inverse does not grow.
func benchLower(n int) Mat { return lowerOnly(randLower(newRand(), n, 0)) }

func BenchmarkTrsm(b *testing.B) {
	benchSets(b, func(b *testing.B) {
		for _, n := range benchSizes {
			// Solved again and again in place, x would shrink to subnormal numbers.
			x, l := randNormal(blockRows, n), benchLower(n)
			y := NewMat(blockRows, n)
			benchWorkers(b, fmt.Sprintf("n=%d", n), blockRows*float64(n)*float64(n), func(p *Pool) {
				copy(y.Data, x.Data)
				p.TrsmRightLowerTrans(l, y)
			})
		}
	})
}

func BenchmarkCholesky(b *testing.B) {
	benchSets(b, func(b *testing.B) {
		for _, n := range benchSizes {
			l := benchLower(n)
			a, c := NewMat(n, n), NewMat(n, n)
			p := NewPool(1)
			p.Syrk(false, 1, l, 0, a)
			p.Close()
			benchWorkers(b, fmt.Sprintf("n=%d", n), float64(n)*float64(n)*float64(n)/3, func(p *Pool) {
				copy(c.Data, a.Data)
				if !p.Cholesky(c) {
					b.Fatal("not positive definite")
				}
			})
		}
	})
}

// BenchmarkFunctions takes a million values in pieces that stay in cache.
func BenchmarkFunctions(b *testing.B) {
	const total, piece = 1 << 20, 1 << 11
	x, y, z := make([]float64, piece), make([]float64, piece), make([]float64, piece)
	r := newRand()
	for i := range x {
		x[i] = 3 * r.NormFloat64()
	}
	run := func(b *testing.B, name string, f func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for range total / piece {
					f()
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/total, "ns/value")
		})
	}
	run(b, "math.Exp", func() {
		for i, v := range x {
			y[i] = math.Exp(v)
		}
	})
	run(b, "math.Erfc", func() {
		for i, v := range x {
			y[i] = 0.5 * math.Erfc(-v/math.Sqrt2)
		}
	})
	benchSets(b, func(b *testing.B) {
		run(b, "Exp", func() { Exp(y, x) })
		run(b, "NormCDF", func() { NormCDF(y, x) })
		run(b, "NormPDF", func() { NormPDF(y, x) })
		run(b, "NormCDFPDF", func() { NormCDFPDF(y, z, x) })
	})
}

func BenchmarkSEKernel(b *testing.B) {
	benchSets(b, func(b *testing.B) {
		for _, d := range []int{8, 26} {
			x, z, c := randNormal(blockRows, d), randNormal(500, d), NewMat(blockRows, 500)
			inv := make([]float64, d)
			for i := range inv {
				inv[i] = 0.5
			}
			b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
				p := NewPool(1)
				defer p.Close()
				for b.Loop() {
					p.SEKernel(x, z, inv, 1, c)
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/(blockRows*500), "ns/element")
			})
		}
	})
}
