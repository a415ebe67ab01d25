package ingest

import (
	"fmt"
	"strconv"
)

// Seconds returns v·10^−digits, correctly rounded, so that a point in time has
// the same value whatever unit it is stored in. digits is 0, 3, 6 or 9.
func Seconds(v int64, digits int) float64 {
	for digits > 0 && v%1000 == 0 {
		v /= 1000
		digits -= 3
	}
	if -MaxInteger <= v && v <= MaxInteger {
		return float64(v) / powers[digits]
	}
	// Rare: finer than float64 at this distance from 1970. The decimal
	// conversion of the library rounds correctly.
	f, err := strconv.ParseFloat(fmt.Sprintf("%de-%d", v, digits), 64)
	if err != nil {
		return TooFar.Cell() // cannot happen: the number is below 10¹⁹
	}
	return f
}

var powers = [...]float64{0: 1, 3: 1e3, 6: 1e6, 9: 1e9}
