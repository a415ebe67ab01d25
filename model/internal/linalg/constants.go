package linalg

import "math"

// The functions exp, φ and Φ, by formulas of which every set does each operation in the
// same order.
//
// exp(x) = 2ⁿ·(1 + r + r²·q(r)) with n = round(x/ln 2), r = x − n·ln 2 in two pieces,
// and q a polynomial with relative error 3.7e-18 for |r| ≤ 0.3467.
//
// With t = |x|, φ(x) = exp(−t²/2)/√(2π), where the rounding error of t² goes into r.
//
// Φ(−t) = exp(−t²/2)·g(s)/(1 + t/4), where s = (t−4)/(t+4) and g is a polynomial for (1
// + t/4)·erfc(t/√2)·exp(t²/2)/2 with relative error 2.2e-17 on 0 ≤ t ≤ 40 (after
// Shepherd and Laframboise, Math. Comp. 36, 1981); then Φ(t) = 1 − Φ(−t). The terms of
// g from s³ on are summed as an even and an odd chain, for speed, and the last three
// one by one, where it matters for the error.
//
// Both polynomials are best approximations by the Remez exchange, at 40 digits.

// Places in scalars. The assembly knows them by the same names.
const (
	expMax = iota
	expMin
	log2E
	roundInt // 1.5·2⁵²: after adding it, the low bits are the integer
	ln2High
	ln2Low
	half
	one
	minusHalf
	absMask
	normalMax
	four
	minusEight
	rootTwoPi // 1/√(2π)
	expCoefficients
	cdfEven = expCoefficients + 10
	cdfOdd  = cdfEven + 10
	cdfLow  = cdfOdd + 10

	constantCount = cdfLow + 3
)

// scalars are the constants, polynomials from the highest coefficient down.
var scalars = [constantCount]float64{
	expMax:     710,
	expMin:     -746,
	log2E:      math.Log2E,
	roundInt:   0x1.8p52,
	ln2High:    0x1.62e42feep-1,
	ln2Low:     0x1.a39ef35793c76p-33,
	half:       0.5,
	one:        1,
	minusHalf:  -0.5,
	absMask:    math.Float64frombits(1<<63 - 1),
	normalMax:  40,
	four:       4,
	minusEight: -8,
	rootTwoPi:  1 / (math.SqrtPi * math.Sqrt2),

	expCoefficients:     0x1.ad7f3e6bb34c7p-26,
	expCoefficients + 1: 0x1.28ad8e4807dd2p-22,
	expCoefficients + 2: 0x1.71df25a0eb4eep-19,
	expCoefficients + 3: 0x1.a01999f02573fp-16,
	expCoefficients + 4: 0x1.a01a012a1e98dp-13,
	expCoefficients + 5: 0x1.6c16c18433d2ap-10,
	expCoefficients + 6: 0x1.1111111127cd1p-7,
	expCoefficients + 7: 0x1.5555555550854p-5,
	expCoefficients + 8: 0x1.55555555554f9p-3,
	expCoefficients + 9: 0x1.000000000000ap-1,

	cdfEven:     -0x1.ba5cd2d280776p-34,
	cdfEven + 1: 0x1.17ac3e17c3e43p-28,
	cdfEven + 2: -0x1.50eb656744709p-25,
	cdfEven + 3: 0x1.125dd16174a26p-22,
	cdfEven + 4: -0x1.8d4b0484f0156p-20,
	cdfEven + 5: 0x1.26d0775f08d01p-17,
	cdfEven + 6: -0x1.e4a422b185cacp-15,
	cdfEven + 7: 0x1.ab825fb4666bdp-12,
	cdfEven + 8: -0x1.ee27610448fb6p-10,
	cdfEven + 9: -0x1.7dff2bff68450p-5,

	cdfOdd:     -0x1.50e589f8e4e5ap-32,
	cdfOdd + 1: 0x1.f872c61f633bfp-29,
	cdfOdd + 2: -0x1.4bb9f7e77b6c8p-26,
	cdfOdd + 3: 0x1.1b95c17ef50a7p-24,
	cdfOdd + 4: -0x1.4fa1c99e6e043p-23,
	cdfOdd + 5: 0x1.7fd43c61ef2d8p-23,
	cdfOdd + 6: -0x1.0010986987db7p-21,
	cdfOdd + 7: 0x1.17a4a5a71207ap-15,
	cdfOdd + 8: -0x1.c81719c8d1830p-11,
	cdfOdd + 9: 0x1.eec4cc3e43c8fp-7,

	cdfLow:     0x1.8c6dbf2cfc30cp-4,
	cdfLow + 1: -0x1.373e3a893c28ap-3,
	cdfLow + 2: 0x1.82b4bb8c94dcep-3,
}
