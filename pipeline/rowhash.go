package pipeline

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/bits"
)

// A mark is two hashes of a row, to find equal rows: of its features, and of features and target.
// Two different rows have the same mark with a probability of about 2⁻⁶⁴, which counts one too many.
type mark [2]uint64

// A secret keys the marks of a pass and its parts. It is drawn after the rows are fixed. Otherwise
// their maker could make different rows collide, and duplicates: drop would leave them out. The counts
// do not depend on it.
type secret [16]byte

// newSecret draws a secret.
func newSecret() (s secret) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// String writes the secret in hexadecimal.
func (s secret) String() string { return hex.EncodeToString(s[:]) }

// parse reads the form of String.
func (s *secret) parse(text string) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(s) {
		return errors.New("pipeline: the secret is not one of 32 hexadecimal digits") // without telling it
	}
	copy(s[:], raw)
	return nil
}

// digest identifies the secret without disclosing it.
func (s secret) digest() Digest { return sha256.Sum256(append([]byte("pacsgp/secret/1\x00"), s[:]...)) }

// A marker makes marks.
type marker struct{ seed, secret uint64 }

func newMarker(s secret) marker {
	return marker{binary.LittleEndian.Uint64(s[:8]), binary.LittleEndian.Uint64(s[8:])}
}

// fold is the step of wyhash: the two halves of a 128-bit product, xored.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// markTile is the number of rows hashed together: their hashes fit the first cache.
const markTile = 512

// rows writes the marks of the rows of a batch, over the used columns; the last is the target.
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

// numberBits returns the bits of a number; for -0 those of 0, by adding 0.
func numberBits(v float64) uint64 { return math.Float64bits(v + 0) }

func (m marker) absorb(h []uint64, a []float64) {
	a = a[:len(h)]
	for i, x := range h {
		h[i] = fold(numberBits(a[i])^m.secret, x)
	}
}

// absorbTwo absorbs two columns in one step, at half the cost.
func (m marker) absorbTwo(h []uint64, a, b []float64) {
	a, b = a[:len(h)], b[:len(h)]
	for i, x := range h {
		h[i] = fold(numberBits(a[i])^m.secret, numberBits(b[i])^x)
	}
}
