package ingest

import (
	"fmt"
	"math"
	"strconv"
)

// Seconds returns v·10^−digits, correctly rounded: a point in time has one value in all units.
// digits is 0, 3, 6 or 9.
func Seconds(v int64, digits int) float64 {
	for digits > 0 && v%1000 == 0 {
		v /= 1000
		digits -= 3
	}
	if -MaxInteger <= v && v <= MaxInteger {
		return float64(v) / math.Pow10(digits)
	}
	// Rare: finer than float64 at this distance from 1970. The library's decimal conversion
	// rounds correctly.
	f, err := strconv.ParseFloat(fmt.Sprintf("%de-%d", v, digits), 64)
	if err != nil {
		return TooFar.Cell() // cannot happen: the number is below 10¹⁹
	}
	return f
}

// Decimal returns digits·10^−scale, correctly rounded, or [TooLong] where float64 skips
// integers.
func Decimal(digits int64, scale int) float64 {
	if digits > MaxInteger || digits < -MaxInteger {
		return TooLong.Cell()
	}
	if 0 <= scale && scale <= 22 {
		return float64(digits) / math.Pow10(scale) // both are exact
	}
	v, err := strconv.ParseFloat(fmt.Sprintf("%de%d", digits, -scale), 64)
	if err != nil {
		return Infinite.Cell()
	}
	return v
}
