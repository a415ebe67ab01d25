package report

import (
	"math/big"
)

// ceil prints x with the given number of digits after the point, rounded up: a
// bound is never printed below itself.
func ceil(x float64, digits int) string {
	r, ok := new(big.Rat).SetString(new(big.Float).SetFloat64(x).Text('f', -1))
	if !ok {
		return "?"
	}
	return roundRat(r, digits, true)
}

// floor prints x rounded down.
func floor(x float64, digits int) string {
	r, ok := new(big.Rat).SetString(new(big.Float).SetFloat64(x).Text('f', -1))
	if !ok {
		return "?"
	}
	return roundRat(r, digits, false)
}

// roundRat rounds r to digits after the point, up or down, and prints it.
func roundRat(r *big.Rat, digits int, up bool) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(scale))
	whole, rest := new(big.Int).DivMod(scaled.Num(), scaled.Denom(), new(big.Int))
	if up && rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(whole, scale).FloatString(digits)
}
