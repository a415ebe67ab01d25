//go:build !noasm

package linalg

import "math"

// Indices into constants, in units of eight numbers, after those of the scalars.
const (
	expPlain  = scalarCount + iota // the T_j
	expLow                         // the T_j, with j·2⁴⁹ subtracted from their bits
	expHalves                      // the lower halves of expLow, then the upper ones
	constantCount
)

// constants are the scalars, each in the eight lanes of the widest vector, and the tables. The slice has
// exactly 4,096 bytes, because the heap aligns an object of this size to 64 bytes: a vector that straddles two
// lines of the cache costs 30 % of the speed of exp.
var constants = func() []float64 {
	c := make([]float64, 512)
	for i := range scalarCount * 8 {
		c[i] = scalars[i/8]
	}
	var halves [16]uint32
	for j, t := range expTable {
		low := math.Float64bits(t) - uint64(j)<<49
		c[expPlain*8+j], c[expLow*8+j] = t, math.Float64frombits(low)
		halves[j], halves[8+j] = uint32(low), uint32(low>>32)
	}
	for j := range 8 {
		c[expHalves*8+j] = math.Float64frombits(uint64(halves[2*j+1])<<32 | uint64(halves[2*j]))
	}
	return c
}()
