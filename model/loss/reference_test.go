package loss

import (
	"math"
	"math/big"
)

// Reference returns E l(y, v) for arguments and arithmetic of [Precision] bits and a variance ≥ 0, which it does not
// raise: a second, slow implementation that shares no numeric code with the first, nor with [Upper].
func Reference(l Loss, y, m, variance *big.Float) *big.Float {
	return l.(interface {
		reference(y, m, variance *big.Float) *big.Float
	}).reference(y, m, variance)
}

// The references below use the definitions of A, C, D and g of the package
// comment directly: cancellation costs digits, of which there are plenty.

func (l band) reference(y, m, variance *big.Float) *big.Float {
	s, r, below, above := sqrt(variance), sub(m, y), number(l.below), number(l.above)
	if l.kind == RelativeZeroOne {
		t := add(y, number(l.offset))
		below = mul(below, t.Abs(t))
		above = below
	}
	if s.Sign() == 0 {
		return pointReference(r.Cmp(neg(below)) > 0 && r.Cmp(above) < 0, 0)
	}
	return add(bigCDF(quo(sub(neg(below), r), s)), bigCDF(quo(sub(r, above), s)))
}

func (l squared) reference(y, m, variance *big.Float) *big.Float {
	v, s, g, eps := variance, sqrt(variance), sub(m, y), number(l.epsilon)
	if s.Sign() == 0 {
		r := quo(g, eps)
		square, _ := mul(r, r).Float64()
		return pointReference(square < 1, square)
	}
	a, c := quo(sub(neg(eps), g), s), quo(sub(eps, g), s)
	pa, pc := bigPDF(a), bigPDF(c)
	d := sub(bigCDF(c), bigCDF(a))
	inside := mul(add(mul(g, g), v), d)
	inside = add(inside, mul(mul(mul(number(2), g), s), sub(pa, pc)))
	inside = add(inside, mul(v, sub(mul(a, pa), mul(c, pc))))
	return add(sub(number(1), d), quo(inside, mul(eps, eps)))
}

func (l exponential) reference(y, m, variance *big.Float) *big.Float {
	g, eps := sub(m, y), number(l.epsilon)
	k := add(mul(number(2), variance), mul(eps, eps))
	return sub(number(1), mul(quo(eps, sqrt(k)), Exp(neg(quo(mul(g, g), k)))))
}

func (l relative) reference(y, m, variance *big.Float) *big.Float {
	t := add(y, number(l.offset))
	t.Abs(t)
	if t.Sign() == 0 {
		return number(1)
	}
	s, g := sqrt(variance), sub(m, y)
	if s.Sign() == 0 {
		r, _ := quo(g, t).Float64()
		return pointReference(math.Abs(r) < 1, math.Abs(r))
	}
	a, h, c := quo(sub(neg(t), g), s), quo(neg(g), s), quo(sub(t, g), s)
	cdfA, cdfH, cdfC := bigCDF(a), bigCDF(h), bigCDF(c)
	two := number(2)
	inside := mul(g, add(sub(cdfC, mul(two, cdfH)), cdfA))
	inside = add(inside, mul(s, sub(sub(mul(two, bigPDF(h)), bigPDF(a)), bigPDF(c))))
	return add(sub(number(1), sub(cdfC, cdfA)), quo(inside, t))
}

// pointReference is the loss at the mean, where the law is a point.
func pointReference(inside bool, loss float64) *big.Float {
	if !inside {
		return number(1)
	}
	return number(loss)
}

// bigPDF returns φ(x).
func bigPDF(x *big.Float) *big.Float {
	e := Exp(neg(quo(mul(x, x), number(2))))
	return quo(e, sqrt(mul(number(2), pi())))
}

// bigCDF returns Φ(x) = 1/2 + φ-series: Φ(x) = ½ + φ(x)·Σ x^(2k+1)/(2k+1)!!,
// whose terms are all of one sign. Subtracting from ½ loses as many bits as
// the tail is small, so beyond |x| = 14, where the tail is below 2⁻¹⁴⁶, it is
// 0 or 1.
func bigCDF(x *big.Float) *big.Float {
	f, _ := x.Float64()
	if math.Abs(f) > 14 {
		if f < 0 {
			return number(0)
		}
		return number(1)
	}
	x2 := mul(x, x)
	term, sum := add(x, number(0)), add(x, number(0))
	for k := 1; k < 4*Precision; k++ {
		if term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-Precision {
			break
		}
		term = quo(mul(term, x2), number(float64(2*k+1)))
		sum = add(sum, term)
	}
	return add(number(0.5), mul(bigPDF(x), sum))
}

// pi returns π by Machin's formula, 16 arctan 1/5 − 4 arctan 1/239.
func pi() *big.Float {
	arctanInverse := func(n float64) *big.Float {
		power := quo(number(1), number(n))
		sum, n2 := power, mul(number(n), number(n))
		for k := 1; k < Precision; k++ {
			power = neg(quo(power, n2))
			sum = add(sum, quo(power, number(float64(2*k+1))))
		}
		return sum
	}
	return sub(mul(number(16), arctanInverse(5)), mul(number(4), arctanInverse(239)))
}

func number(x float64) *big.Float { return new(big.Float).SetPrec(Precision).SetFloat64(x) }

func add(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(Precision).Add(a, b) }
func sub(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(Precision).Sub(a, b) }
func mul(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(Precision).Mul(a, b) }
func quo(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(Precision).Quo(a, b) }
func neg(a *big.Float) *big.Float    { return new(big.Float).SetPrec(Precision).Neg(a) }
func sqrt(a *big.Float) *big.Float   { return new(big.Float).SetPrec(Precision).Sqrt(a) }
