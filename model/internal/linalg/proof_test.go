package linalg

import (
	"math"
	"math/big"
	"slices"
	"testing"
)

// The errors of exp, φ and Φ are proven here, piece by piece of their arguments. Each is the sum
// of what the exact formula is off by, a polynomial in exact arithmetic, and of what rounding adds
// to it, by the running error analysis of each operation (Higham 2002, 3.3). The formulas are those
// of math_portable.go; the other sets do the same operations (TestFunctionsAreTheSameInAllSets).

// A polynomial has its coefficients from the constant up: dyadic numbers, so that all sums and
// products of them at this precision are exact.
type polynomial []*big.Float

func exact(x float64) *big.Float { return new(big.Float).SetPrec(2400).SetFloat64(x) }

func (p polynomial) plus(q polynomial) polynomial {
	sum := make(polynomial, max(len(p), len(q)))
	for i := range sum {
		sum[i] = exact(0)
		for _, from := range []polynomial{p, q} {
			if i < len(from) {
				sum[i].Add(sum[i], from[i])
			}
		}
	}
	return sum
}

func (p polynomial) times(q polynomial) polynomial {
	product := make(polynomial, len(p)+len(q)-1)
	for i := range product {
		product[i] = exact(0)
	}
	for i, a := range p {
		for j, b := range q {
			product[i+j].Add(product[i+j], new(big.Float).Mul(a, b))
		}
	}
	return product
}

func (p polynomial) slope() polynomial {
	var d polynomial
	for i := 1; i < len(p); i++ {
		d = append(d, new(big.Float).Mul(p[i], exact(float64(i))))
	}
	return d
}

// most bounds |p| within so far from a position: the terms there, each at its largest.
func (p polynomial) most(at, within float64) float64 {
	shifted := append(polynomial{}, p...)
	for i := range shifted {
		for j := len(shifted) - 2; j >= i; j-- { // Horner's scheme again and again
			shifted[j] = new(big.Float).Add(shifted[j], new(big.Float).Mul(shifted[j+1], exact(at)))
		}
	}
	sum, power := 0.0, 1.0
	for _, c := range shifted {
		v, _ := c.Float64()
		sum += math.Abs(v) * power
		power *= within
	}
	return sum * (1 + 0x1p-40)
}

// coefficients is a polynomial of constants, which stand from the highest down.
func coefficients(first, n int) (p polynomial) {
	for i := n - 1; i >= 0; i-- {
		p = append(p, exact(scalars[first+i]))
	}
	return p
}

// A number is one that is computed: between which ends the exact one lies, and how far at most the
// computed one is from that. Ends and errors are widened for their own rounding.
type number struct{ low, high, off float64 }

func numberOf(low, high, off float64) number {
	wide := 0x1p-45 * max(math.Abs(low), math.Abs(high))
	return number{low - wide, high + wide, off * (1 + 0x1p-40)}
}

func constant(x float64) number { return number{x, x, 0} }

func (n number) size() float64 { return max(math.Abs(n.low), math.Abs(n.high)) }

// fused is a·b + c, rounded once.
func fused(a, b, c number) number {
	ends := []float64{a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high}
	n := numberOf(min(ends[0], ends[1], ends[2], ends[3])+c.low, max(ends[0], ends[1], ends[2], ends[3])+c.high, a.size()*b.off+b.size()*a.off+a.off*b.off+c.off)
	n.off += unit * (n.size() + n.off)
	return n
}

// together is what relative errors make, all of them far below 2⁻⁴⁰.
func together(offs ...float64) (sum float64) {
	for _, off := range offs {
		sum += off
	}
	return sum * (1 + 0x1p-38)
}

// tableError bounds |T_j/2^(j/8) − 1|.
func tableError(j int) float64 {
	root := exact(2).SetPrec(300)
	for range 3 {
		root = new(big.Float).Sqrt(root)
	}
	power := exact(1).SetPrec(300)
	for range j {
		power.Mul(power, root)
	}
	off, _ := new(big.Float).Quo(new(big.Float).Sub(exact(expTable[j]).SetPrec(300), power), power).Float64()
	return math.Abs(off) * (1 + 0x1p-40)
}

const restWidth = math.Ln2 / 16 * (1 + 0x1p-30) // of r, with what n is off by

// expError bounds the relative error of T_j·(1 + p(r)) against eˣ, before it is scaled: n·ln 2 is off
// by less than 2⁻⁷⁵, the two steps of the reduction by a rounding of r each, and that of t² by one more.
func expError() (worst float64) {
	taylor, factorial := polynomial{exact(0), exact(0)}, exact(1).SetPrec(300)
	for k := 2; k < 30; k++ {
		factorial.Mul(factorial, exact(float64(k)))
		taylor = append(taylor, exact(0).Sub(exact(0), new(big.Float).SetPrec(300).Quo(exact(1), factorial)))
	}
	formula := taylor.plus(append(polynomial{exact(0), exact(0)}, coefficients(expCoefficients, 6)...))
	table := 0.0
	for j := range expTable {
		table = max(table, tableError(j))
	}
	const pieces = 64
	width := restWidth / pieces
	for i := -pieces; i < pieces; i++ {
		at := (float64(i) + 0.5) * width
		approximation := formula.most(at, width/2+0x1p-60) + 0x1p-90 // and the rest of Taylor's series
		r := numberOf(at-width/2, at+width/2, 3*unit*restWidth+0x1p-75)
		c := scalars[expCoefficients:]
		k := constant
		r2 := fused(r, r, k(0))
		high := fused(fused(k(c[0]), r, k(c[1])), r2, fused(k(c[2]), r, k(c[3])))
		p := fused(fused(high, r2, fused(k(c[4]), r, k(c[5]))), r2, r)
		whole := p.low + 1
		off := (p.off + approximation) / (whole - 0x1p-40)
		worst = max(worst, together(off, table, unit))
	}
	return worst
}

// gaussRatio is G(s), the polynomial for (t+4)·Φ(−t)/exp(−t²/2).
func gaussRatio() polynomial {
	s, square := polynomial{exact(0), exact(1)}, polynomial{exact(0), exact(0), exact(1)}
	compose := func(p polynomial) polynomial { // of s²
		sum := polynomial{exact(0)}
		for _, c := range slices.Backward(p) {
			sum = sum.times(square).plus(polynomial{c})
		}
		return sum
	}
	g := compose(coefficients(cdfOdd, 10)).times(s).plus(compose(coefficients(cdfEven, 10)))
	for i := range 3 {
		g = g.times(s).plus(polynomial{exact(scalars[cdfLow+i])})
	}
	return g
}

// ratioDefect returns ρ(s) = G' − tG + 1/√(2π) of G = g(s)/(t+4): R = Φ(−t)/exp(−t²/2) has ρ = 0, so
// that D = G − R solves D' = tD + ρ, whence
//
//	|D(t)| ≤ exp((t²−T²)/2)·|D(T)| + ∫ over [t, T] of exp((t²−z²)/2)·|ρ(z)| dz
//
// With t = 4(1+s)/(1−s) it is a polynomial.
func ratioDefect(g polynomial) polynomial {
	rest := polynomial{exact(1), exact(-1)} // 1 − s
	root, _ := new(big.Float).SetPrec(300).SetString("0.39894228040143267793994605993438186847585863116493465766592582967")
	first := g.slope().times(rest).plus(g.times(polynomial{exact(-1)})).times(rest).times(rest).times(polynomial{exact(1.0 / 64)})
	second := g.times(polynomial{exact(-0.5), exact(-0.5)})
	return first.plus(second).plus(polynomial{root})
}

const (
	cdfPieces = 4096
	cdfLast   = 36.0 / 44 // s of t = 40
)

// ends are those of a piece in s, and in t.
func ends(i int) (low, high, from, to float64) {
	low, high = -1+(cdfLast+1)*float64(i)/cdfPieces, -1+(cdfLast+1)*float64(i+1)/cdfPieces
	return low, high, 4 * (1 + low) / (1 - low), 4 * (1 + high) / (1 - high)
}

// leastRatio bounds √(2π)·R from below (Birnbaum 1942).
func leastRatio(t float64) float64 { return (math.Sqrt(t*t+4) - t) / 2 * (1 - 0x1p-40) }

// approximationErrors bounds |D|/R on each piece, from the last on, where Laplace's series of R
// alternates and falls, so that two sums enclose it.
func approximationErrors(g polynomial) (relative [cdfPieces]float64) {
	at := exact(40)
	value, term := exact(0).SetPrec(300), new(big.Float).SetPrec(300).Quo(exact(1), at)
	for k := 1; k < 60; k++ {
		value.Add(value, term)
		term.Mul(term, new(big.Float).SetPrec(300).Quo(exact(float64(1-2*k)), exact(1600)))
	}
	formula, last := exact(0), new(big.Float).SetPrec(300).Quo(exact(36), exact(44))
	for _, c := range slices.Backward(g) {
		formula.Add(exact(0).Mul(formula, last), c)
	}
	root, _ := new(big.Float).SetPrec(300).SetString("2.5066282746310005024157652848110452530069867406099383166299235764")
	off := new(big.Float).SetPrec(300).Quo(new(big.Float).SetPrec(300).Mul(formula, root), exact(44))
	distance, _ := off.Sub(off, value).Float64()
	defect := ratioDefect(g)
	d := math.Abs(distance) * (1 + 0x1p-40) / math.Sqrt(2*math.Pi)
	for i := cdfPieces - 1; i >= 0; i-- {
		low, high, from, to := ends(i)
		add := defect.most((low+high)/2, (high-low)/2+0x1p-50) * (to - from + 0x1p-40)
		relative[i] = (d + add) * math.Sqrt(2*math.Pi) / leastRatio(to) * (1 + 0x1p-40)
		d = (d*math.Exp((from-to)*(from+to)/2) + add) * (1 + 0x1p-40)
	}
	return relative
}

// ratioError bounds the relative rounding error of tailRatio on a piece.
func ratioError(i int) float64 {
	low, high, from, to := ends(i)
	inverse := numberOf(1/(to+4), 1/(from+4), 0)
	off := 8 * 2.01 * unit * inverse.high // of 8/(t+4): a sum and a quotient
	s := numberOf(low, high, off)
	s.off += unit * (s.size() + off)
	chain := func(first int, x, x2 number) number {
		c := scalars[first : first+10]
		odd, even := constant(c[0]), constant(c[1])
		for i := 2; i < 10; i += 2 {
			odd, even = fused(odd, x2, constant(c[i])), fused(even, x2, constant(c[i+1]))
		}
		return fused(odd, x, even)
	}
	s2 := fused(s, s, constant(0))
	s4 := fused(s2, s2, constant(0))
	g := fused(chain(cdfOdd, s2, s4), s, chain(cdfEven, s2, s4))
	s.off = (2*s.size() + 0x1p-40) * unit // after its correction
	for _, c := range scalars[cdfLow : cdfLow+3] {
		g = fused(g, s, constant(c))
	}
	return g.off/(g.low-g.off) + 2*unit // times inverse, and the remainder's part of that
}

// The errors that the bounds on losses and on kernel values rest on (docs/explanation/theory.md, 10), in units
// of 2⁻⁵³: relative ones, and of Φ absolute ones too, of Φ(−t) and of 1 − Φ(−t).
func TestFunctionErrorsAreProven(t *testing.T) {
	e, g := expError(), gaussRatio()
	relative, tail, whole := approximationErrors(g), 0.0, 0.0
	for i := range cdfPieces {
		_, _, from, _ := ends(i)
		off := together(e, relative[i], ratioError(i), unit)
		most := off * math.Exp(-from*from/2) / 2 * (1 + 0x1p-40)
		tail, whole = max(tail, off), max(whole, most, together(most, unit/2))
	}
	for _, c := range []struct {
		name       string
		got, claim float64
	}{{"exp", e, 2}, {"φ", together(e, unit, unit), 4}, {"Φ(−t)", tail, 16}, {"Φ, absolutely", whole, 7}} { // 1/√(2π) is rounded
		t.Logf("%s: %.3f units", c.name, c.got/unit)
		if !(c.got <= c.claim*unit) {
			t.Errorf("%s: proven to %.3f units, want %g", c.name, c.got/unit, c.claim)
		}
	}
}

// Each set gives the bits of the formula, at three positions of each piece and of as many of exp.
func TestFunctionsAreTheSameInAllSets(t *testing.T) {
	random := newRand()
	var x []float64
	for i := range cdfPieces {
		_, _, from, to := ends(i)
		for _, at := range []float64{from, from + (to-from)*random.Float64(), to} {
			x = append(x, at, -at)
		}
	}
	sameInAllSets(t, "exp, cdf and pdf", func(*Pool) Mat {
		out := NewMat(3, len(x))
		Exp(out.Row(0), x)
		NormCDFPDF(out.Row(1), out.Row(2), x)
		return out
	})
}
