package certify

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Count prints a number of things: 1 row, 2 rows. The plural adds an s, or is given.
func Count[N int | int64](n N, thing string, plural ...string) string {
	if n != 1 {
		if thing += "s"; len(plural) > 0 {
			thing = plural[0]
		}
	}
	return strconv.FormatInt(int64(n), 10) + " " + thing
}

// AtMost prints an upper bound in [0, 1] rounded up, with at least four decimals and
// at least three digits that count. NaN is printed as NaN.
func AtMost(x float64) string { return outward(x, true) }

// atLeast prints a lower bound in [0, 1] rounded down, in the same form.
func atLeast(x float64) string { return outward(x, false) }

// RoundUp prints the exact value of x with so many decimals, rounded up: a bound is never
// printed below itself. NaN and infinities are printed as such.
func RoundUp(x float64, decimals int) string {
	r := new(big.Rat).SetFloat64(x)
	if r == nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return rounded(r, decimals, true).FloatString(decimals)
}

// rounded is the number of so many decimals next to r on the side asked for.
func rounded(r *big.Rat, decimals int, up bool) *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(power))
	digits, rest := new(big.Int).DivMod(scaled.Num(), scaled.Denom(), new(big.Int))
	if up && rest.Sign() > 0 {
		digits.Add(digits, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(digits, power)
}

// decimalsFor is how many decimals, from least to most, r ≥ 0 needs so that its digits
// make a number of at least whole.
func decimalsFor(r *big.Rat, least, most int, whole int64) int {
	for r.Sign() > 0 && least < most {
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(least)), nil)
		if new(big.Rat).Mul(r, new(big.Rat).SetInt(power)).Cmp(big.NewRat(whole, 1)) >= 0 {
			break
		}
		least++
	}
	return least
}

// outward prints x ≥ 0 rounded to a decimal number on the side asked for. The
// decimal number is exact: no digit is lost on the way.
func outward(x float64, up bool) string {
	r := new(big.Rat).SetFloat64(x)
	if r == nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	decimals := decimalsFor(r, 4, 18, 100)
	return rounded(r, decimals, up).FloatString(decimals)
}

// PercentUp prints an upper bound in [0, 1] as a percentage, rounded up, with
// at least two digits that count and at least one decimal below 100 %.
func PercentUp(x float64) string {
	r := new(big.Rat).SetFloat64(x)
	if r == nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	r.Mul(r, big.NewRat(100, 1))
	decimals := decimalsFor(r, 1, 16, 10)
	if r = rounded(r, decimals, true); r.Cmp(big.NewRat(100, 1)) >= 0 {
		return "100 %"
	}
	return r.FloatString(decimals) + " %"
}

// atLeastDigits prints x > 0 with three digits that count, rounded down: a condition that
// is printed may ask for more than is needed, and never for less.
func atLeastDigits(x float64) string {
	for y := x; ; y /= 1.0005 {
		text := strconv.FormatFloat(y, 'g', 3, 64)
		if v, err := strconv.ParseFloat(text, 64); err != nil || v <= x {
			return text
		}
	}
}

// confidence prints 1 − δ in percent, without rounding.
func confidence(delta float64) string {
	d, err := decimal(delta)
	if err != nil {
		return "1 - " + plain(delta)
	}
	percent := d.Mul(d.Sub(big.NewRat(1, 1), d), big.NewRat(100, 1))
	decimals, _ := percent.FloatPrec()
	return percent.FloatString(min(decimals, 400)) + " %"
}

// declaredDigits is how many digits a number has at most that a person declares.
// One that has more was computed, and says no more by them.
const declaredDigits = 9

// atMostDigits prints a tolerance as it was declared, or with four digits rounded up
// if it has more than a person declares: a larger one is exceeded no more often, and
// costs no more.
func atMostDigits(x float64) string { return fewDigits(x, true) }

// nearDigits prints a number with four digits if it has more than a person declares.
func nearDigits(x float64) string { return fewDigits(x, false) }

func fewDigits(x float64, up bool) string {
	shortest, _, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'e', -1, 64), "e")
	if len(strings.ReplaceAll(shortest, ".", "")) <= declaredDigits || math.IsInf(x, 0) || math.IsNaN(x) {
		return plain(x)
	}
	text := strconv.FormatFloat(x, 'e', 3, 64)
	y, err := strconv.ParseFloat(text, 64)
	if err != nil { // beyond the largest number
		return plain(x)
	}
	if up && y < x {
		mantissa, exponent, _ := strings.Cut(text, "e")
		digits, _ := strconv.Atoi(strings.ReplaceAll(mantissa, ".", ""))
		power, _ := strconv.Atoi(exponent)
		y, _ = strconv.ParseFloat(fmt.Sprintf("%de%d", digits+1, power-3), 64)
	}
	return plain(y)
}

// plain prints a declared number as it was declared.
func plain(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
