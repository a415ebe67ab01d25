package certify

import (
	"math"
	"math/big"
)

// precision is the number of mantissa bits of every intermediate big.Float. Each operation +, −, ×, ÷, √ of math/big
// is correctly rounded, so that its relative error is at most u = 2⁻²⁵⁶ (docs/explanation/theory.md, 1).
const precision = 256

// ln2Text is ln 2 to 288 bits; as a big.Float it is off by at most u ln 2.
const ln2Text = "0x.b17217f7d1cf79abc9e3b39803f2f6af40f343267298b62d8a0d175b8baafa2be7b876206p+0"

// exact returns x as a big.Float without error. x must be finite.
func exact(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// exactInt returns n as a big.Float without error.
func exactInt(n int64) *big.Float { return new(big.Float).SetPrec(precision).SetInt64(n) }

// pow2 returns 2^e without error.
func pow2(e int) *big.Float { return new(big.Float).SetPrec(precision).SetMantExp(exact(1), e) }

// empty returns a new zero of full precision, to hold a result.
func empty() *big.Float { return new(big.Float).SetPrec(precision) }

// upward returns the smallest float64 that is not below x.
func upward(x *big.Float) float64 {
	f, side := x.Float64()
	if side == big.Below {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}

// ln returns the natural logarithm of x > 0 with a relative error below 2⁻²⁴⁰.
//
// With x = m·2^e and √½ ≤ m < √2 it is e ln 2 + 2 artanh z, z = (m−1)/(m+1), by the series of artanh, whose terms
// have one sign and fall by z² < 0.0295 (docs/explanation/theory.md, 2).
func ln(x *big.Float) *big.Float {
	m := empty()
	e := x.MantExp(m) // ½ ≤ m < 1
	if m.Cmp(exact(math.Sqrt2/2)) < 0 {
		m.SetMantExp(m, 1)
		e--
	}
	one := exact(1)
	z := empty().Quo(empty().Sub(m, one), empty().Add(m, one))
	sum := empty().Mul(artanh(z), exact(2))
	if e == 0 {
		return sum
	}
	ln2, _, err := big.ParseFloat(ln2Text, 0, precision, big.ToNearestEven)
	if err != nil {
		panic("certify: ln2Text is no number: " + err.Error())
	}
	return sum.Add(sum, ln2.Mul(ln2, exactInt(int64(e))))
}

// artanh returns z + z³/3 + z⁵/5 + … for |z| < 0.1716, summed until the rest is below 2⁻²⁵⁶ of the sum.
func artanh(z *big.Float) *big.Float {
	sum, power, z2 := empty().Set(z), empty().Set(z), empty().Mul(z, z)
	term, odd := empty(), new(big.Float).SetPrec(64)
	for k := int64(3); power.Sign() != 0; k += 2 {
		power.Mul(power, z2)
		term.Quo(power, odd.SetInt64(k))
		sum.Add(sum, term)
		if term.MantExp(nil) < sum.MantExp(nil)-precision-2 {
			break
		}
	}
	return sum
}

// expNegUp returns an upper bound on exp(−x) for x ≥ 0. For x ≤ 128 its relative excess is below 2⁻¹⁹⁰; for
// larger x it is 2⁻¹⁸⁴, since exp(−128) < 2⁻¹⁸⁴.
//
// exp(−x) = (exp(−x/2⁸))^(2⁸), the inner one by Taylor's series (docs/explanation/theory.md, 3).
func expNegUp(x *big.Float) *big.Float {
	if x.Cmp(exact(128)) > 0 {
		return pow2(-184)
	}
	y := empty().Mul(x, pow2(-8)) // ≤ ½
	sum, term := exact(1), exact(1)
	for k := int64(1); term.Sign() != 0; k++ {
		term.Mul(term, y)
		term.Quo(term, exactInt(-k))
		sum.Add(sum, term)
		if term.Sign() == 0 || term.MantExp(nil) < -precision-2 {
			break
		}
	}
	for range 8 {
		sum.Mul(sum, sum)
	}
	return widen(sum, -200)
}

// expNegDown returns a lower bound on exp(−x) for x ≥ 0: 0 for x > 128, and else too low by a share of less than 2⁻¹⁷⁹.
func expNegDown(x *big.Float) *big.Float {
	if x.Cmp(exact(128)) > 0 {
		return empty()
	}
	up := expNegUp(x)
	return up.Sub(up, empty().Mul(up, pow2(-180)))
}

// widen returns x(1 + 2^e), rounded to nearest: more than x for x > 0, e > −250.
func widen(x *big.Float, e int) *big.Float { return empty().Add(x, empty().Mul(x, pow2(e))) }
