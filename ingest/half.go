package ingest

import "math"

// Half is the number that 16 bits of IEEE 754 stand for, exactly. (The library takes numbers below
// 2⁻¹⁴ for others.)
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
