package report

import (
	"math/big"
	"strconv"
)

// ceil prints x with the given number of digits after the point, rounded up: a
// bound is never printed below itself.
func ceil(x float64, digits int) string { return outward(x, digits, true) }

// floor prints x rounded down.
func floor(x float64, digits int) string { return outward(x, digits, false) }

// outward rounds the exact value of x. NaN and infinities are printed as such.
func outward(x float64, digits int, up bool) string {
	r := new(big.Rat).SetFloat64(x)
	if r == nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return roundRat(r, digits, up)
}

// confidence prints 1−δ in percent without rounding, δ being the shortest
// decimal number that reads back as delta.
func confidence(delta float64) string {
	d, ok := new(big.Rat).SetString(strconv.FormatFloat(delta, 'g', -1, 64))
	if !ok {
		return "?"
	}
	percent := d.Mul(d.Sub(big.NewRat(1, 1), d), big.NewRat(100, 1))
	digits, _ := percent.FloatPrec()
	return percent.FloatString(min(digits, 40))
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
