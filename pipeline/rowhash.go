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

// A mark is a hash of a row, to find equal rows. Two different rows have the same mark with a
// probability of about 2⁻⁶⁴, which counts one too many.
type mark uint64

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

// rows writes the marks of the rows of a batch, over the used columns.
func (m marker) rows(dst []mark, columns [][]float64, used []int) {
	for from := 0; from < len(dst); from += markTile {
		to := min(from+markTile, len(dst))
		h := dst[from:to]
		for i := range h {
			h[i] = mark(m.seed)
		}
		j := 0
		for ; j+1 < len(used); j += 2 {
			m.absorbTwo(h, columns[used[j]][from:to], columns[used[j+1]][from:to])
		}
		if j < len(used) {
			m.absorb(h, columns[used[j]][from:to])
		}
	}
}

// numberBits returns the bits of a number; for -0 those of 0, by adding 0.
func numberBits(v float64) uint64 { return math.Float64bits(v + 0) }

func (m marker) absorb(h []mark, a []float64) {
	a = a[:len(h)]
	for i, x := range h {
		h[i] = mark(fold(numberBits(a[i])^m.secret, uint64(x)))
	}
}

// absorbTwo absorbs two columns in one step, at half the cost.
func (m marker) absorbTwo(h []mark, a, b []float64) {
	a, b = a[:len(h)], b[:len(h)]
	for i, x := range h {
		h[i] = mark(fold(numberBits(a[i])^m.secret, numberBits(b[i])^uint64(x)))
	}
}
