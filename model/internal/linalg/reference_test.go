package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Dumb second implementations, and what the tests share. A sum of k products in any
// order, with or without fused operations, is within γ_k·Σ|x·y| of the truth: Higham
// (2002), eq. (3.5).

const unit = 0x1p-53

func gamma(n int) float64 { return float64(n) * unit / (1 - float64(n)*unit) }

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// guard surrounds the elements of test matrices: a NaN of its own kind.
var guard = math.Float64frombits(0x7ff8dead_beef0001)

// randMat returns a matrix with a stride that exceeds its columns by gap, at an odd
// position in memory, with guards between the rows and around all.
func randMat(r *rand.Rand, rows, cols, gap int) Mat {
	stride := cols + gap
	data := make([]float64, rows*stride+8)
	for i := range data {
		data[i] = guard
	}
	m := Mat{Rows: rows, Cols: cols, Stride: stride, Data: data[3 : 3+rows*stride]}
	for i := range rows {
		for j := range cols {
			m.Data[i*stride+j] = r.NormFloat64()
		}
	}
	return m
}

// checkGuards fails if anything but the elements of m has changed.
func checkGuards(t *testing.T, what string, m Mat) {
	t.Helper()
	want := math.Float64bits(guard)
	for i := range m.Rows {
		for j := m.Cols; j < m.Stride; j++ {
			if math.Float64bits(m.Data[i*m.Stride+j]) != want {
				t.Fatalf("%s: wrote behind row %d", what, i)
			}
		}
	}
	all := m.Data[:cap(m.Data)]
	for i := len(m.Data); i < len(all); i++ {
		if math.Float64bits(all[i]) != want {
			t.Fatalf("%s: wrote behind the matrix", what)
		}
	}
}

func clone(m Mat) Mat {
	c := NewMat(m.Rows, m.Cols)
	for i := range m.Rows {
		copy(c.Row(i), m.Row(i))
	}
	return c
}

// cloneWide keeps the stride and the guards.
func cloneWide(m Mat) Mat {
	c := m
	data := make([]float64, cap(m.Data)+1)
	copy(data[1:], m.Data[:cap(m.Data)])
	c.Data = data[1 : 1+len(m.Data)]
	return c
}

func transposed(m Mat, really bool) Mat {
	if !really {
		return clone(m)
	}
	c := NewMat(m.Cols, m.Rows)
	for i := range m.Rows {
		for j := range m.Cols {
			c.Data[j*c.Stride+i] = m.Data[i*m.Stride+j]
		}
	}
	return c
}

// refProduct returns a·b and |a|·|b|.
func refProduct(a, b Mat) (sum, mass Mat) {
	sum, mass = NewMat(a.Rows, b.Cols), NewMat(a.Rows, b.Cols)
	for i := range a.Rows {
		s, m := sum.Row(i), mass.Row(i)
		for k, x := range a.Row(i) {
			for j, y := range b.Row(k) {
				s[j] += x * y
				m[j] += math.Abs(x * y)
			}
		}
	}
	return sum, mass
}

// lowerOnly returns the lower triangle of m, zeros above.
func lowerOnly(m Mat) Mat {
	c := clone(m)
	for i := range c.Rows {
		clear(c.Row(i)[min(i+1, c.Cols):])
	}
	return c
}

func sameBits(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || (math.IsNaN(x) && math.IsNaN(y))
}

// equalBits fails at the first element in which the matrices differ.
func equalBits(t *testing.T, what string, got, want Mat) {
	t.Helper()
	for i := range want.Rows {
		for j, w := range want.Row(i) {
			if g := got.Data[i*got.Stride+j]; !sameBits(g, w) {
				t.Fatalf("%s: element (%d, %d) = %x, want %x", what, i, j, g, w)
			}
		}
	}
}

// withSets runs f as a subtest for each instruction set, and restores the set in use.
func withSets(t *testing.T, f func(t *testing.T)) {
	before := InstructionSet()
	defer func() {
		fatal.If(t, UseInstructionSet(before))
	}()
	for _, name := range InstructionSets() {
		fatal.If(t, UseInstructionSet(name))
		t.Run(name, f)
	}
}

// sameInAllSets calls f with each set in use, and with one and three workers, and fails
// unless all results have the same bits.
func sameInAllSets(t *testing.T, what string, f func(p *Pool) Mat) Mat {
	t.Helper()
	before := InstructionSet()
	defer func() {
		fatal.If(t, UseInstructionSet(before))
	}()
	var first Mat
	for i, name := range InstructionSets() {
		fatal.If(t, UseInstructionSet(name))
		for _, workers := range []int{1, 3} {
			p := NewPool(workers)
			got := f(p)
			p.Close()
			if i == 0 && workers == 1 {
				first = got
				continue
			}
			equalBits(t, what+" with "+name, got, first)
		}
	}
	return first
}
