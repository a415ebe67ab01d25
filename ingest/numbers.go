package ingest

import (
	"fmt"
	"math"
	"math/big"
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
// ±[MaxInteger] without a fraction, which may be an identifier, of [Infinite] for an overflow.
func Decimal(digits int64, scale int) float64 {
	if -MaxInteger <= digits && digits <= MaxInteger && 0 <= scale && scale <= 22 {
		return float64(digits) / math.Pow10(scale) // both are exact
	}
	return WideDecimal(big.NewInt(digits), scale)
}

// WideDecimal is [Decimal] of digits of any number.
func WideDecimal(digits *big.Int, scale int) float64 {
	if scale <= 0 && digits.CmpAbs(big.NewInt(MaxInteger)) > 0 {
		return TooLong.Cell()
	}
	v, err := strconv.ParseFloat(fmt.Sprintf("%de%d", digits, -scale), 64)
	if err != nil {
		return Infinite.Cell()
	}
	return v
}

// Unscaled is the big-endian integer of a decimal, in two's complement.
func Unscaled(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 1<<7 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// Half is the number that 16 bits of IEEE 754 stand for, exactly. (The library takes numbers below 2⁻¹⁴ for others.)
func Half(b uint16) float64 {
	exponent, fraction := int(b>>10&31), float64(b&0x3ff)
	v := math.Ldexp(1024+fraction, exponent-25)
	switch {
	case exponent == 0:
		v = fraction * 0x1p-24
	case exponent == 31 && fraction == 0:
		v = math.Inf(1)
	case exponent == 31:
		v = math.NaN()
	}
	if b>>15 == 1 {
		return -v
	}
	return v
}
