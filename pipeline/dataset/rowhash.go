package dataset

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/bits"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Mark is a hash of a row, to find equal rows. Two different rows have the same mark with a
// probability of about 2⁻⁶⁴, which counts one too many.
type Mark uint64

// A Secret keys the marks of a pass and its parts. It is drawn after the rows are fixed. Otherwise
// their author could make different rows collide, and duplicates: drop would leave them out. The counts
// do not depend on it.
type Secret [16]byte

// NewSecret draws a secret.
func NewSecret() (s Secret) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// String writes the secret in hexadecimal.
func (s Secret) String() string { return hex.EncodeToString(s[:]) }

// Parse reads the form of String.
func (s *Secret) Parse(text string) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(s) {
		return errors.New("pipeline: the secret is not one of 32 hexadecimal digits") // without telling it
	}
	copy(s[:], raw)
	return nil
}

// Digest identifies the secret without disclosing it.
func (s Secret) Digest() job.Digest {
	return sha256.Sum256(append([]byte("pacsgp/secret/1\x00"), s[:]...))
}

// A Marker makes marks.
type Marker struct{ seed, secret uint64 }

// NewMarker returns the marker of a secret.
func NewMarker(s Secret) Marker {
	return Marker{binary.LittleEndian.Uint64(s[:8]), binary.LittleEndian.Uint64(s[8:])}
}

// fold is the step of wyhash: the two halves of a 128-bit product, xored.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// markTile is the number of rows hashed together: their hashes fit the first cache.
const markTile = 512

// rows writes the marks of the rows of a batch, over the used columns.
func (m Marker) rows(dst []Mark, columns [][]float64, used []int) {
	for from := 0; from < len(dst); from += markTile {
		to := min(from+markTile, len(dst))
		h := dst[from:to]
		for i := range h {
			h[i] = Mark(m.seed)
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

// NumberBits returns the bits of a number; for -0 those of 0, by adding 0.
func NumberBits(v float64) uint64 { return math.Float64bits(v + 0) }

func (m Marker) absorb(h []Mark, a []float64) {
	a = a[:len(h)]
	for i, x := range h {
		h[i] = Mark(fold(NumberBits(a[i])^m.secret, uint64(x)))
	}
}

// absorbTwo absorbs two columns in one step, at half the cost.
func (m Marker) absorbTwo(h []Mark, a, b []float64) {
	a, b = a[:len(h)], b[:len(h)]
	for i, x := range h {
		h[i] = Mark(fold(NumberBits(a[i])^m.secret, NumberBits(b[i])^uint64(x)))
	}
}
