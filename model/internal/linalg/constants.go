package linalg

import "math"

// The functions exp, φ and Φ. All sets do each operation of these formulas in the same order.
//
// exp(x) = 2^m·(T_j + T_j·p(r)) with n = round(8x/ln 2) = 8m + j, 0 ≤ j < 8, T_j = 2^(j/8) rounded to nearest,
// r = x − n/8·ln 2 in two pieces, and p(r) = r + r²·q(r) a polynomial for eʳ − 1 with an error of 2.9e-18
// relative to eʳ for |r| ≤ ln 2/16. n/8 comes from adding and subtracting a number whose last binary digit is
// worth 1/8, so that the low three bits of the sum are j.
//
// With t = |x|, φ(x) = exp(−t²/2)/√(2π), where the rounding error of t² goes into r.
//
// Φ(−t) = exp(−t²/2)·g(s)/(t + 4), where s = (t−4)/(t+4) and g is a polynomial for (t + 4)·erfc(t/√2)·exp(t²/2)/2
// with relative error 2.2e-17 on 0 ≤ t ≤ 40 (after Shepherd and Laframboise, Math. Comp. 36, 1981); then Φ(t) = 1 −
// Φ(−t). The terms of g from s³ on are summed as four chains in s⁴, for speed. The last three terms, which matter for
// the error, are added one by one, and only for them is s corrected for the rounding of the quotient.
//
// Both polynomials are best approximations by the Remez exchange, at 40 digits.
//
// An element of a squared-exponential kernel block is variance·e, e = exp(max(t, kernelMin)) − exp(kernelMin),
// with t the exponent. It is 0 far away and never subnormal, and what is computed from two elements hardly ever
// is. An element of a Matérn block is variance·(p(a)·e), with t = −a and p(a) = 1 + a or (third·a + 1)·a + 1.
// Its slope is steep·e or steep·((1 + a)·e).

// Indices into scalars. The assembly uses the same names.
const (
	expMax = iota
	expMin
	expNormal // for |x| up to here, 2^m and exp(x) are normal numbers
	log2E
	roundInt    // 1.5·2⁵²: after adding it, the low bits are the integer
	roundEighth // 1.5·2⁴⁹
	ln2High
	ln2Low
	restMax // more than |r|
	half
	one
	minusHalf
	absMask
	normalMax
	normalNormal // for t up to here, exp(−t²/2), φ(t) and Φ(−t) are normal numbers
	four
	minusEight
	rootTwoPi // 1/√(2π)
	kernelMin
	kernelFloor // exp(kernelMin), as computed
	third
	expCoefficients
	cdfEven = expCoefficients + 6
	cdfOdd  = cdfEven + 10
	cdfLow  = cdfOdd + 10

	scalarCount = cdfLow + 3
)

// expTable holds the T_j.
var expTable = [8]float64{
	0x1.0000000000000p+0, 0x1.172b83c7d517bp+0, 0x1.306fe0a31b715p+0, 0x1.4bfdad5362a27p+0,
	0x1.6a09e667f3bcdp+0, 0x1.8ace5422aa0dbp+0, 0x1.ae89f995ad3adp+0, 0x1.d5818dcfba487p+0,
}

// scalars are the constants, polynomials from the highest coefficient down.
var scalars = [scalarCount]float64{
	expMax: 710, expMin: -746, expNormal: 708,
	log2E: math.Log2E, roundInt: 0x1.8p52, roundEighth: 0x1.8p49, ln2High: 0x1.62e42feep-1, ln2Low: 0x1.a39ef35793c76p-33, restMax: 0.0625,
	half: 0.5, one: 1, minusHalf: -0.5, absMask: math.Float64frombits(1<<63 - 1), normalMax: 40, normalNormal: 37.5,
	four: 4, minusEight: -8, rootTwoPi: 1 / (math.SqrtPi * math.Sqrt2), kernelMin: -345, kernelFloor: 0x1.34bb5fd56a155p-498, third: 1.0 / 3,
	expCoefficients: 0x1.a0163a26154efp-13, 0x1.6c1cbd30732d5p-10, 0x1.11111125d5f6cp-7, 0x1.55555548101fbp-5, 0x1.5555555555132p-3,
	0x1.000000000010bp-1,
	cdfEven: -0x1.ba5cd2d280776p-32, 0x1.17ac3e17c3e43p-26, -0x1.50eb656744709p-23, 0x1.125dd16174a26p-20, -0x1.8d4b0484f0156p-18,
	0x1.26d0775f08d01p-15, -0x1.e4a422b185cacp-13, 0x1.ab825fb4666bdp-10, -0x1.ee27610448fb6p-8, -0x1.7dff2bff68450p-3,
	cdfOdd: -0x1.50e589f8e4e5ap-30, 0x1.f872c61f633bfp-27, -0x1.4bb9f7e77b6c8p-24, 0x1.1b95c17ef50a7p-22, -0x1.4fa1c99e6e043p-21,
	0x1.7fd43c61ef2d8p-21, -0x1.0010986987db7p-19, 0x1.17a4a5a71207ap-13, -0x1.c81719c8d1830p-9, 0x1.eec4cc3e43c8fp-5,
	cdfLow: 0x1.8c6dbf2cfc30cp-2, -0x1.373e3a893c28ap-1, 0x1.82b4bb8c94dcep-1,
}
