package pipeline

import (
	"math"
	"math/bits"
)

// A mark is two hashes of a row, by which its copies are found: of its features,
// and of its features and target. Equal rows have equal marks. That two different
// rows have the same has a chance of 2⁻⁶⁴, and counts one copy too many.
// docs/format.md, section "Copies", specifies it.
type mark [2]uint64

const (
	markSeed = 0x9E3779B97F4A7C15
	// markSecret has the bits of a NaN, which no row holds: xored with a value it
	// is never 0, so that the product never forgets its other factor.
	markSecret = 0xFFF5A6E3C94B7D21
)

// fold is the step of wyhash: the two halves of a 128-bit product, xored.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// markTile is how many rows are hashed together: so few that their hashes stay
// in the first cache while the columns pass by.
const markTile = 512

// markRows writes the marks of the rows of a batch: of the used columns, whose
// last one is the target.
func markRows(dst []mark, columns [][]float64, used []int) {
	features, target := used[:len(used)-1], columns[used[len(used)-1]]
	var tile [markTile]uint64
	for from := 0; from < len(dst); from += markTile {
		to := min(from+markTile, len(dst))
		out, h := dst[from:to], tile[:to-from]
		for i := range h {
			h[i] = markSeed
		}
		j := 0
		for ; j+1 < len(features); j += 2 {
			absorbTwo(h, columns[features[j]][from:to], columns[features[j+1]][from:to])
		}
		if j < len(features) {
			absorb(h, columns[features[j]][from:to])
		}
		for i, x := range h {
			out[i][0] = x
		}
		absorb(h, target[from:to])
		for i, x := range h {
			out[i][1] = x
		}
	}
}

// numberBits returns the bits of a number, those of 0 for -0: adding 0 makes it
// one.
func numberBits(v float64) uint64 { return math.Float64bits(v + 0) }

func absorb(h []uint64, a []float64) {
	a = a[:len(h)]
	for i, x := range h {
		h[i] = fold(numberBits(a[i])^markSecret, x)
	}
}

// absorbTwo takes two columns in one step, for half the price.
func absorbTwo(h []uint64, a, b []float64) {
	a, b = a[:len(h)], b[:len(h)]
	for i, x := range h {
		h[i] = fold(numberBits(a[i])^markSecret, numberBits(b[i])^x)
	}
}
