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

// A Secret keys the marks of rows in a pass and its parts. It is drawn after the rows are fixed, so that their
// author cannot make different rows with equal marks, which would be dropped as duplicates. The counts of duplicates
// do not depend on it.
type Secret [16]byte

// NewSecret returns a random secret.
func NewSecret() (s Secret) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// String returns the secret in hexadecimal.
func (s Secret) String() string { return hex.EncodeToString(s[:]) }

// Parse sets the secret from 32 hexadecimal digits.
func (s *Secret) Parse(text string) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(s) {
		return errors.New("the secret is not one of 32 hexadecimal digits") // the message must not disclose it
	}
	copy(s[:], raw)
	return nil
}

// Digest returns a digest that identifies the secret without disclosing it.
func (s Secret) Digest() job.Digest {
	return sha256.Sum256(append([]byte("pacsgp/secret/1\x00"), s[:]...))
}

// fold returns the xor of the two halves of the 128-bit product: the step of wyhash.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// markTile is the number of rows hashed together. Their hashes fit the first-level cache.
const markTile = 512

// mark writes the marks of the rows of a batch to dst: hashes of their used columns, by which equal rows are found.
// Two different rows have the same mark, and count as duplicates, with a probability of about 2⁻⁶⁴.
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

// NumberBits returns the bits of a number, and for -0 those of 0.
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
