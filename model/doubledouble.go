package model

import (
	"math"
	"math/big"
)

// A doubleDouble is the unevaluated sum of two float64, hi being the nearest to the
// whole: a number of 106 bits (Dekker 1971). Its operations err by a few units of
// 2⁻¹⁰⁴, relative to the result; sums relative to their terms at worst.
type doubleDouble struct{ hi, lo float64 }

// nearest returns the doubleDouble nearest to x, nearly.
func nearest(x *big.Float) doubleDouble {
	hi, _ := x.Float64()
	lo, _ := new(big.Float).Sub(x, exact(hi)).Float64()
	return doubleDouble{hi, lo}
}

// exact returns the sum of both parts.
func (a doubleDouble) exact() *big.Float { return exact(a.hi).Add(exact(a.hi), exact(a.lo)) }

// twoSum returns a + b as rounded, and the rounding error (Knuth).
func twoSum(a, b float64) doubleDouble {
	s := a + b
	back := s - a
	return doubleDouble{s, (a - (s - back)) + (b - back)}
}

// renormalised returns the same sum with |lo| ≤ ½ulp(hi), for |hi| ≥ |lo|.
func (a doubleDouble) renormalised() doubleDouble {
	s := a.hi + a.lo
	return doubleDouble{s, a.lo - (s - a.hi)}
}

func (a doubleDouble) plus(b doubleDouble) doubleDouble {
	s, t := twoSum(a.hi, b.hi), twoSum(a.lo, b.lo)
	s.lo += t.hi
	s = s.renormalised()
	s.lo += t.lo
	return s.renormalised()
}

func (a doubleDouble) minus(b doubleDouble) doubleDouble { return a.plus(doubleDouble{-b.hi, -b.lo}) }

func (a doubleDouble) times(b float64) doubleDouble {
	p := a.hi * b
	return doubleDouble{p, math.FMA(a.hi, b, -p) + float64(a.lo*b)}.renormalised()
}

func (a doubleDouble) squared() doubleDouble {
	p := a.hi * a.hi
	return doubleDouble{p, math.FMA(a.hi, a.hi, -p) + float64(2*a.hi*a.lo)}.renormalised()
}

func (a doubleDouble) over(b float64) doubleDouble {
	q := a.hi / b
	r := a.minus(doubleDouble{hi: b}.times(q))
	return doubleDouble{q, r.hi / b}.renormalised()
}
