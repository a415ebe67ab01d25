package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Multiset is a digest of values that does not depend on their order: the sum of their hashes
// (docs/reference/formats.md, section "Digest of the targets"). Attempts on the same rows are counted under it, because
// files, row groups, workers and features do not change it either.
//
// A sum of hashes is weaker than a hash: two multisets with the same sum can be constructed. That only makes a count
// larger. The rows of a certificate are identified by the sample digest.
type Multiset struct {
	Count uint64
	Sum   [4]uint64 // modulo 2²⁵⁶, least significant first
}

// targetPrefix makes hashes of target values differ from all other hashes.
const targetPrefix = "pacsgp/target/1\x00"

// Add adds values, none of which may be NaN. -0 counts as 0.
func (m *Multiset) Add(values []float64) {
	var text [len(targetPrefix) + 8]byte
	copy(text[:], targetPrefix)
	for _, v := range values {
		binary.LittleEndian.PutUint64(text[len(targetPrefix):], NumberBits(v))
		m.AddDigest(sha256.Sum256(text[:]))
	}
}

// AddDigest adds a value whose hash is h.
func (m *Multiset) AddDigest(h [32]byte) {
	m.Merge(Multiset{1, [4]uint64{
		binary.LittleEndian.Uint64(h[0:]), binary.LittleEndian.Uint64(h[8:]),
		binary.LittleEndian.Uint64(h[16:]), binary.LittleEndian.Uint64(h[24:]),
	}})
}

// Merge adds the values of another multiset.
func (m *Multiset) Merge(other Multiset) {
	m.Count += other.Count
	var carry uint64
	for i := range m.Sum {
		m.Sum[i], carry = bits.Add64(m.Sum[i], other.Sum[i], carry)
	}
}

// Digest returns the SHA-256 of count and sum.
func (m *Multiset) Digest() job.Digest {
	text := binary.LittleEndian.AppendUint64([]byte("pacsgp/targets/1\x00"), m.Count)
	for _, x := range m.Sum {
		text = binary.LittleEndian.AppendUint64(text, x)
	}
	return sha256.Sum256(text)
}
