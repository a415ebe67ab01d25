package certify

import (
	"math/big"
	"math/bits"
)

// XiLimit is the largest N for which [LnXi] sums exactly.
const XiLimit = 10_000_000_000

// LnXi returns an upper bound on ln ξ(n),
//
//	ξ(n) = Σ_{k=0}^{n} C(n,k) (k/n)^k (1−k/n)^{n−k}
//
// for n ≥ 1. Up to [XiLimit] it comes from the sum, too high by less than 10⁻¹¹; above, it is ln(2√n), too high
// by less than 0.47 (Maurer 2004). It panics if n < 1.
func LnXi(n int64) float64 {
	if n < 1 {
		panic("certify: LnXi needs N of at least 1")
	}
	if n > XiLimit {
		root := empty().Sqrt(exactInt(n))
		return upward(widen(ln(root.Mul(root, exact(2))), -200))
	}
	return upward(widen(ln(xi(uint64(n))), -200))
}

// xiBits is the position of the binary point of the terms that xi adds.
const xiBits = 62

// xi returns an upper bound on ξ(n), 1 ≤ n ≤ XiLimit. By Cauchy's identity (docs/explanation/theory.md, 6)
//
//	ξ(n) = Σ_{i=0}^{n} t_i,  t_0 = 1,  t_{i+1} = t_i (n−i)/n
//
// whose terms are kept as integers in units of 2⁻⁶², each rounded up. The ratios fall, so that the terms from t_i on
// add up to at most t_i·n/i. That bound ends the sum once rounding up keeps the terms from falling.
func xi(n uint64) *big.Float {
	var hi, lo, carry uint64 // 128-bit sum in units of 2⁻⁶²
	t := uint64(1) << xiBits
	for i := uint64(1); i <= n; i++ {
		lo, carry = bits.Add64(lo, t, 0) // t = t_{i−1}
		hi += carry
		t = mulDivUp(t, n-i+1, n)
		if t <= 4*(n/i) {
			t = mulDivUp(t, n, i) // a bound on t_i and all later terms together
			break
		}
	}
	lo, carry = bits.Add64(lo, t, 0)
	sum := empty().SetInt(RiskSum{hi: hi + carry, lo: lo}.total())
	return sum.SetMantExp(sum, -xiBits)
}

// mulDivUp returns ⌈a·b/d⌉, which must fit into 64 bits.
func mulDivUp(a, b, d uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	quotient, rest := bits.Div64(hi, lo, d)
	return quotient + min(rest, 1)
}
