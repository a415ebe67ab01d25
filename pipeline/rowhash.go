package pipeline

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"math/bits"
)

// A mark is two hashes of a row, by which its copies are found: of its features,
// and of its features and target. Equal rows have equal marks. That two different
// rows have the same has a chance of about 2⁻⁶⁴, and counts one copy too many.
type mark [2]uint64

// A marker makes the marks of one pass, with secrets that nobody knows before it: whoever
// makes the rows cannot make different ones meet, so that copies: drop would leave them
// out. What is counted does not depend on the secrets.
type marker struct{ seed, secret uint64 }

func newMarker() marker {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return marker{binary.LittleEndian.Uint64(random[:8]), binary.LittleEndian.Uint64(random[8:])}
}

// fold is the step of wyhash: the two halves of a 128-bit product, xored.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// markTile is how many rows are hashed together: so few that their hashes stay
// in the first cache while the columns pass by.
const markTile = 512

// rows writes the marks of the rows of a batch: of the used columns, whose
// last one is the target.
func (m marker) rows(dst []mark, columns [][]float64, used []int) {
	features, target := used[:len(used)-1], columns[used[len(used)-1]]
	var tile [markTile]uint64
	for from := 0; from < len(dst); from += markTile {
		to := min(from+markTile, len(dst))
		out, h := dst[from:to], tile[:to-from]
		for i := range h {
			h[i] = m.seed
		}
		j := 0
		for ; j+1 < len(features); j += 2 {
			m.absorbTwo(h, columns[features[j]][from:to], columns[features[j+1]][from:to])
		}
		if j < len(features) {
			m.absorb(h, columns[features[j]][from:to])
		}
		for i, x := range h {
			out[i][0] = x
		}
		m.absorb(h, target[from:to])
		for i, x := range h {
			out[i][1] = x
		}
	}
}

// numberBits returns the bits of a number, those of 0 for -0: adding 0 makes it
// one.
func numberBits(v float64) uint64 { return math.Float64bits(v + 0) }

func (m marker) absorb(h []uint64, a []float64) {
	a = a[:len(h)]
	for i, x := range h {
		h[i] = fold(numberBits(a[i])^m.secret, x)
	}
}

// absorbTwo takes two columns in one step, for half the price.
func (m marker) absorbTwo(h []uint64, a, b []float64) {
	a, b = a[:len(h)], b[:len(h)]
	for i, x := range h {
		h[i] = fold(numberBits(a[i])^m.secret, numberBits(b[i])^x)
	}
}
