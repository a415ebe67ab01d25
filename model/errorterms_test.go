package model

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// provenErrors reads the constants of a family from the table of docs/explanation/theory.md, section
// 10: name, ρ, a supremum, C₁, a supremum, C₂, R, P.
func provenErrors(t *testing.T, f *kernel.Family) (e kernel.Errors) {
	t.Helper()
	proofs, err := os.ReadFile("../docs/explanation/theory.md")
	fatal.If(t, err)
	for line := range strings.Lines(string(proofs)) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, ""), "|")
		if len(cells) < 9 || strings.TrimSpace(cells[1]) != "`"+f.Name+"`" {
			continue
		}
		numbers := strings.Join([]string{cells[2], cells[4], cells[6], cells[7], cells[8]}, " ")
		if _, err := fmt.Sscanf(numbers, "%g %g %g %g P = %g", &e.Root, &e.Shift, &e.Scale, &e.Last, &e.Vanish); err != nil {
			t.Fatalf("constants of %s in docs/explanation/theory.md, %q: %v", f.Name, numbers, err)
		}
		return e
	}
	t.Fatalf("docs/explanation/theory.md, section 10, has no constants of %s", f.Name)
	return e
}

// The bounds are those of docs/explanation/theory.md, section 10, computed here a second time by plain
// loops, term by term: so that none can be lost where rounding errors happen to be far
// below it. Each term is made large enough to be seen by the posterior or by hand.
func TestErrorTermsAreThoseOfTheProof(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		const u = 0x1p-53
		g := func(n float64) float64 { return n * u / (1 - n*u) }
		length := func(x []float64) float64 {
			s := 0.0
			for _, v := range x {
				s += v * v
			}
			return math.Sqrt(s)
		}
		near := func(what string, got, want float64) {
			t.Helper()
			if !(want <= got && got <= want*(1+1e-6)) {
				t.Errorf("%s is %.12g, want %.12g and hardly more", what, got, want)
			}
		}
		const m, d = 40, 3
		p := withFamily(t, randomPosterior(t, m, d, 4), f)
		c := provenErrors(t, f)
		pool := linalg.NewPool(1)
		defer pool.Close()
		z := view(p.Z, d)
		origin, inverse := medians(z), p.inverseScales()
		e := newErrorTerms(pool, p, origin, inverse)
		sigma := math.Sqrt(p.Kernel.Variance)

		distance := func(x []float64) float64 {
			s := 0.0
			for j := range x {
				r := (x[j] - origin[j]) / p.Kernel.Lengthscales[j]
				s += r * r * f.Stretch
			}
			return math.Sqrt(s)
		}
		farthest := 0.0
		for i := range m {
			farthest = max(farthest, distance(z.Row(i)))
		}
		near("farthest inducing point", e.far, farthest)
		near("length of alpha", e.length, length(e.alpha))
		near("inverse of L", e.inverse, math.Sqrt(2/p.Jitter))

		// Kernel column: each term alone, by hand, and all together.
		root := c.Scale * (4.2 + c.Root + float64(d+1)/2) * u
		for _, at := range []struct{ k, sum, distance float64 }{{0, 4, 0}, {0, 4, 7}, {3, 0, 0}, {2, 5, 1e3}} {
			reach := at.distance + min(farthest, 2*at.distance+c.Vanish)
			want := sigma*math.Sqrt(at.sum)*(c.Shift*2.01*u*reach+root) + c.Last*u*at.k
			near("error of a kernel column", e.kernelError(at.k, at.sum, at.distance), want)
		}
		away := e
		away.far = 1e6 // an inducing point beyond twice the row's distance and vanish counts as there
		near("error of a kernel column with a point far away", away.kernelError(0, 4, 100), 2*sigma*(c.Shift*2.01*u*(100+min(1e6, 2*100+c.Vanish))+root))
		if got := e.kernelError(0, 0, 0); !(got > 0) {
			t.Errorf("a kernel column without any value has the error %g, want what vanishes", got)
		}

		// Mean: of rounding, of the column, of alpha.
		dot := g(float64(m/16 + 24))
		e.residual = 1e-3
		near("mean, of rounding", e.meanError(1e20, 0), dot*1e20*length(e.alpha)+1e-3)
		near("mean, of the column", e.meanError(0, 1e20), 1e20*length(e.alpha)+1e-3)
		near("mean, of alpha", e.meanError(0, 0), 1e-3)

		// Variance, fast path: the defect, the product, the column, the sum.
		way := newFastPath(pool, p)
		way.defect = 1e-3
		product := g(float64(m + 3))
		size := way.size
		off := func(k, dk, image float64) float64 {
			o := (product*k + dk) * size
			return 1e-3 + o*(2*math.Sqrt(image)+o) + g(float64(m+8))*(p.Kernel.Variance+3*image)
		}
		near("variance, of the defect", way.varianceError(&e, 0, 0, 0), off(0, 0, 0))
		near("variance, of the product", way.varianceError(&e, 1e12, 0, 4), off(1e12, 0, 4))
		near("variance, of the column", way.varianceError(&e, 0, 1e-1, 4), off(0, 1e-1, 4))
		near("variance, of the sum", way.varianceError(&e, 0, 0, 1e16), off(0, 0, 1e16))

		// Variance, exact path: substitution, the column, the product with C, the sum.
		w := newExactPath(pool, p)
		lower, factor := length(p.L), length(p.Factor)
		near("size of L", e.lower, lower)
		near("size of C", e.covFactor, factor)
		white := func(dk, image float64) float64 {
			phi := math.Sqrt(image)
			o := math.Sqrt(2/p.Jitter) * (dk + g(float64(m+8))*lower*phi)
			q := product * factor * phi
			return (1+e.spread)*o*(2*phi+o) + q*(2*math.Sqrt(e.spread)*phi+q) + g(float64(m+8))*(p.Kernel.Variance+(1+e.spread)*image)
		}
		near("whitened variance, of the column", w.varianceError(&e, 0, 1e-6, 1), white(1e-6, 1))
		near("whitened variance, of substitution", w.varianceError(&e, 0, 0, 1), white(0, 1))
		e.lower = 0
		lower = 0
		near("whitened variance, of the product and the sum", w.varianceError(&e, 0, 0, 1), white(0, 1))

		// ‖C‖₂² is at most the largest row sum of |CCᵀ|, and at least what C does to a vector.
		image := make([]float64, m)
		for j := range m {
			for i := j; i < m; i++ {
				image[j] += p.Factor[i*m+j] / math.Sqrt(m)
			}
		}
		if !(e.spread >= length(image)*length(image)) {
			t.Errorf("the spread %g is below what C does to a vector, %g", e.spread, length(image)*length(image))
		}
	})
}

// The defect of the fast path is what its factors leave of I − CCᵀ, and what rounding
// may hide of it: measured here in 106-bit arithmetic.
func TestDefectHoldsWhatTheFactorsLeave(t *testing.T) {
	const m, d = 24, 2
	p := randomPosterior(t, m, d, 9)
	checkDefect(t, "random", p)
	clear(p.Factor) // S = I: every pivot is raised
	for i := range m {
		p.Factor[i*m+i] = 1
	}
	checkDefect(t, "S = I", p)
}

func checkDefect(t *testing.T, what string, p *Posterior) {
	t.Helper()
	m := p.Inducing()
	pool := linalg.NewPool(1)
	defer pool.Close()
	v, signs := fastRoot(pool, p)
	f := newFastPath(pool, p)
	absolute, bSize := 0.0, 0.0    // squares of | |V||L| | and |VL|
	b := make([]doubleDouble, m*m) // VL
	for i := range m {
		for j := range i + 1 {
			size := 0.0
			for k := j; k <= i; k++ {
				b[i*m+j] = b[i*m+j].plus(doubleDouble{hi: v.Row(i)[k]}.times(p.L[k*m+j]))
				size += math.Abs(v.Row(i)[k] * p.L[k*m+j])
			}
			absolute += size * size
			bSize += b[i*m+j].hi * b[i*m+j].hi
		}
	}
	sum := 0.0
	for i := range m {
		for j := range m {
			rest := doubleDouble{}
			if i == j {
				rest.hi = 1
			}
			for k := range min(i, j) + 1 {
				rest = rest.minus(doubleDouble{hi: p.Factor[i*m+k]}.times(p.Factor[j*m+k]))
			}
			for k := max(i, j); k < m; k++ {
				x, y := b[k*m+i], b[k*m+j]
				rest = rest.minus(x.times(signs[k] * y.hi)).minus(x.times(signs[k] * y.lo))
			}
			sum += rest.hi * rest.hi
		}
	}
	left := p.Kernel.Variance * math.Sqrt(sum)
	if !(left <= f.defect && f.defect <= 1e-9) {
		t.Errorf("%s: the factors leave %g, the defect is %g: want no less, and a small number", what, left, f.defect)
	}
	factor := 0.0
	for _, c := range p.Factor {
		factor += c * c
	}
	gamma := float64(m+3) * roundoff
	b2 := math.Sqrt(bSize)
	if len(f.minus) == 0 {
		b2 = min(1, b2)
	}
	least := p.Kernel.Variance * (2*gamma*(factor+bSize+math.Sqrt(float64(m))) + 2*gamma*math.Sqrt(absolute)*b2)
	if !(f.defect >= least) {
		t.Errorf("%s: the defect %g has no room for rounding, which may hide %g", what, f.defect, least)
	}
}
