// Package words formats numbers and names for people: bounds rounded outwards, percentages, counts.
package words

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Count formats a number of things: 1 row, 2,000 rows. plural is by default thing with an s.
func Count[N int | int64](n N, thing string, plural ...string) string {
	if n != 1 {
		if thing += "s"; len(plural) > 0 {
			thing = plural[0]
		}
	}
	return Number(int64(n)) + " " + thing
}

// RoundUp formats the exact value of x with this many decimals, rounded up. NaN and infinities are printed as such.
func RoundUp(x float64, decimals int) string {
	if r := new(big.Rat).SetFloat64(x); r != nil {
		return rounded(r, decimals, true).FloatString(decimals)
	}
	return Plain(x)
}

// rounded returns r rounded up or down to this many decimals.
func rounded(r *big.Rat, decimals int, up bool) *big.Rat {
	power := tenTo(decimals)
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(power))
	digits, rest := new(big.Int).DivMod(scaled.Num(), scaled.Denom(), new(big.Int))
	if up && rest.Sign() > 0 {
		digits.Add(digits, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(digits, power)
}

// decimalsFor returns the smallest number of decimals d, from least to largest, with r·10^d ≥ whole,
// or largest if there is none. It returns least for r = 0. It requires r ≥ 0.
func decimalsFor(r *big.Rat, least, largest int, whole int64) int {
	for r.Sign() > 0 && least < largest && r.Cmp(new(big.Rat).SetFrac(big.NewInt(whole), tenTo(least))) < 0 {
		least++
	}
	return least
}

func tenTo(decimals int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
}

// Bound formats an upper bound in [0, 1] on a mean loss, rounded up: as a percentage if each loss is a share, else with at
// least four decimals and three significant digits, and at most 18 decimals. NaN is printed as NaN.
func Bound(shares bool, x float64) string {
	if r := new(big.Rat).SetFloat64(x); r != nil && !shares {
		return RoundUp(x, decimalsFor(r, 4, 18, 100))
	}
	return PercentUp(x)
}

// PercentUp formats an upper bound in [0, 1] as a percentage, rounded up. Below 100 % it has at
// least two significant digits and at least one decimal.
func PercentUp(x float64) string { return percent(x, true) }

// PercentNear formats an observed share like PercentUp, but rounded to the nearest.
func PercentNear(x float64) string { return percent(x, false) }

func percent(x float64, up bool) string {
	r := new(big.Rat).SetFloat64(x)
	if r == nil {
		return Plain(x)
	}
	r.Mul(r, big.NewRat(100, 1))
	decimals := decimalsFor(r, 1, 16, 10)
	if up {
		r = rounded(r, decimals, true)
	}
	if r.Cmp(big.NewRat(100, 1)) >= 0 {
		return "100 %"
	}
	return r.FloatString(decimals) + " %"
}

// Confidence formats 1 − δ as a percentage, without rounding.
func Confidence(delta float64) string {
	d := decimal(delta)
	if d == nil {
		return "1 - " + Plain(delta)
	}
	return inPercent(d.Sub(big.NewRat(1, 1), d))
}

// PercentDeclared formats a declared number, such as δ, as a percentage, without rounding.
func PercentDeclared(x float64) string {
	if r := decimal(x); r != nil {
		return inPercent(r)
	}
	return Plain(x)
}

// inPercent formats 100·r without rounding. It changes r.
func inPercent(r *big.Rat) string {
	r.Mul(r, big.NewRat(100, 1))
	decimals, _ := r.FloatPrec()
	return r.FloatString(min(decimals, 400)) + " %"
}

// declaredDigits is the largest number of digits of a declared number. A number with more digits was computed.
const declaredDigits = 9

// AtMostDigits formats a tolerance: a declared one in full, a computed one with four digits,
// rounded up. A larger tolerance is exceeded no more often and costs no more.
func AtMostDigits(x float64) string {
	shortest, _, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'e', -1, 64), "e")
	if len(strings.ReplaceAll(shortest, ".", "")) <= declaredDigits || math.IsInf(x, 0) || math.IsNaN(x) {
		return Plain(x)
	}
	text := strconv.FormatFloat(x, 'e', 3, 64)
	y, err := strconv.ParseFloat(text, 64)
	if err != nil { // above the largest number
		return Plain(x)
	}
	if y < x {
		mantissa, exponent, _ := strings.Cut(text, "e")
		digits, _ := strconv.Atoi(strings.ReplaceAll(mantissa, ".", ""))
		power, _ := strconv.Atoi(exponent)
		y, _ = strconv.ParseFloat(fmt.Sprintf("%de%d", digits+1, power-3), 64)
	}
	return Plain(y)
}

// Plain returns the shortest decimal that reads back as x.
func Plain(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// decimal returns [Plain] as an exact number, or nil for NaN and infinities.
func decimal(x float64) *big.Rat {
	r, _ := new(big.Rat).SetString(Plain(x))
	return r
}

// Number prints a count with thousands separators: 18,935.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Name formats a column's name for a sentence: in quotes, unless it is a plain word.
func Name(column string) string { return quoted(column, plainWord) }

// Unit formats a unit after a number: in quotes if it could be mistaken for a part of it, like e-3.
func Unit(unit string) string { return quoted(unit, plainUnit) }

// Amount formats a tolerance with its unit, rounded up.
func Amount(tolerance float64, unit string) string {
	return strings.TrimRight(AtMostDigits(tolerance)+" "+Unit(unit), " ")
}

// If returns text if it applies, otherwise "".
func If(applies bool, text string) string {
	if applies {
		return text
	}
	return ""
}

func quoted(text string, unless *regexp.Regexp) string {
	if unless.MatchString(text) {
		return text
	}
	return `"` + text + `"`
}

var (
	plainWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainUnit = regexp.MustCompile(`^([\pL°%]+[²³]?(/\pL+[²³]?)?)?$`)
)
