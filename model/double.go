package model

import (
	"math"
	"math/big"
)

// A double is the unevaluated sum of two float64, hi being the nearest to the
// whole: a number of 106 bits (Dekker 1971). Its operations err by a few units of
// 2⁻¹⁰⁴, relative to the result; sums relative to their terms at worst.
type double struct{ hi, lo float64 }

// nearest returns the double nearest to x, nearly.
func nearest(x *big.Float) double {
	hi, _ := x.Float64()
	lo, _ := new(big.Float).Sub(x, exact(hi)).Float64()
	return double{hi, lo}
}

// exact returns the sum of both parts.
func (a double) exact() *big.Float { return exact(a.hi).Add(exact(a.hi), exact(a.lo)) }

// twoSum returns a + b as rounded, and the rounding error (Knuth).
func twoSum(a, b float64) double {
	s := a + b
	back := s - a
	return double{s, (a - (s - back)) + (b - back)}
}

// renormalised returns the same sum with |lo| ≤ ½ulp(hi), for |hi| ≥ |lo|.
func (a double) renormalised() double {
	s := a.hi + a.lo
	return double{s, a.lo - (s - a.hi)}
}

func (a double) plus(b double) double {
	s, t := twoSum(a.hi, b.hi), twoSum(a.lo, b.lo)
	s.lo += t.hi
	s = s.renormalised()
	s.lo += t.lo
	return s.renormalised()
}

func (a double) minus(b double) double { return a.plus(double{-b.hi, -b.lo}) }

func (a double) times(b float64) double {
	p := a.hi * b
	return double{p, math.FMA(a.hi, b, -p) + float64(a.lo*b)}.renormalised()
}

func (a double) squared() double {
	p := a.hi * a.hi
	return double{p, math.FMA(a.hi, a.hi, -p) + float64(2*a.hi*a.lo)}.renormalised()
}

func (a double) over(b float64) double {
	q := a.hi / b
	r := a.minus(double{hi: b}.times(q))
	return double{q, r.hi / b}.renormalised()
}
