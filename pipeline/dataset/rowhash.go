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
		return errors.New("the secret is not one of 32 hexadecimal digits") // without telling it
	}
	copy(s[:], raw)
	return nil
}

// Digest identifies the secret without disclosing it.
func (s Secret) Digest() job.Digest {
	return sha256.Sum256(append([]byte("pacsgp/secret/1\x00"), s[:]...))
}

// fold is the step of wyhash: the two halves of a 128-bit product, xored.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// markTile is the number of rows hashed together: their hashes fit the first cache.
const markTile = 512

// mark writes the marks of the rows of a batch, over the used columns: hashes, to find equal rows. Two
// different rows have the same mark with a probability of about 2⁻⁶⁴, which counts one too many.
func (s Secret) mark(dst []uint64, columns [][]float64, used []int) {
	seed, secret := binary.LittleEndian.Uint64(s[:8]), binary.LittleEndian.Uint64(s[8:])
	for from := 0; from < len(dst); from += markTile {
		to := min(from+markTile, len(dst))
		h := dst[from:to]
		for i := range h {
			h[i] = seed
		}
		j := 0
		for ; j+1 < len(used); j += 2 {
			absorbTwo(h, secret, columns[used[j]][from:to], columns[used[j+1]][from:to])
		}
		if j < len(used) {
			absorb(h, secret, columns[used[j]][from:to])
		}
	}
}

// NumberBits returns the bits of a number; for -0 those of 0, by adding 0.
func NumberBits(v float64) uint64 { return math.Float64bits(v + 0) }

func absorb(h []uint64, secret uint64, a []float64) {
	a = a[:len(h)]
	for i, x := range h {
		h[i] = fold(NumberBits(a[i])^secret, x)
	}
}

// absorbTwo absorbs two columns in one step, at half the cost.
func absorbTwo(h []uint64, secret uint64, a, b []float64) {
	a, b = a[:len(h)], b[:len(h)]
	for i, x := range h {
		h[i] = fold(NumberBits(a[i])^secret, NumberBits(b[i])^x)
	}
}
