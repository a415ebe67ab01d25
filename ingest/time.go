package ingest

import (
	"fmt"
	"math"
	"strconv"
)

// Seconds returns v·10^−digits, correctly rounded, so that a point in time has the same value in
// all units. digits is 0, 3, 6 or 9.
func Seconds(v int64, digits int) float64 {
	for digits > 0 && v%1000 == 0 {
		v /= 1000
		digits -= 3
	}
	if -MaxInteger <= v && v <= MaxInteger {
		return float64(v) / math.Pow10(digits)
	}
	// Rare: the time is finer than float64 at this distance from 1970. ParseFloat rounds correctly.
	f, err := strconv.ParseFloat(fmt.Sprintf("%de-%d", v, digits), 64)
	if err != nil {
		return TooFar.Cell() // cannot happen: the number is below 10¹⁹
	}
	return f
}

// Decimal returns digits·10^−scale, correctly rounded; the cell of [TooLong] for digits beyond
// ±[MaxInteger], of [Infinite] for an overflow.
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
