package model

import "math"

// A doubleDouble is the unevaluated sum of two float64, hi being the nearest to the whole: a number of 106 bits
// (Dekker 1971). The errors of its operations are a few units of 2⁻¹⁰⁴, relative to the result; those of sums,
// at worst, relative to the terms.
type doubleDouble struct{ hi, lo float64 }

// twoSum returns the rounded a + b, and its rounding error (Knuth).
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
