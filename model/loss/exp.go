package loss

import "math/big"

// Precision is the number of bits of the results of [Exp], far more than a float64 holds.
const Precision = 256

// Exp returns eˣ to nearly [Precision] bits, for |x| < 2³⁰. It halves the argument until the series is short,
// and then squares the sum as often.
func Exp(x *big.Float) *big.Float {
	const guard = 64
	halvings := max(0, x.MantExp(nil)+8)
	t := new(big.Float).SetPrec(Precision + guard).Set(x)
	t.SetMantExp(t, -halvings)
	sum := new(big.Float).SetPrec(Precision + guard).SetInt64(1)
	term := new(big.Float).SetPrec(Precision + guard).SetInt64(1)
	for k := int64(1); k < Precision; k++ {
		term.Mul(term, t)
		term.Quo(term, new(big.Float).SetPrec(Precision+guard).SetInt64(k))
		sum.Add(sum, term)
		if term.Sign() == 0 || term.MantExp(nil) < -Precision-guard {
			break
		}
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return new(big.Float).SetPrec(Precision).Set(sum)
}
