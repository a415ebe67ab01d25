package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Multiset is a digest of values in any order: the sum of their hashes. Neither the order of
// rows, nor files, row groups, workers or features change it, so that attempts on the same rows
// are counted under it. docs/reference/formats.md, section "Digest of the targets", specifies it.
//
// The sum of hashes is weaker than a hash: somebody may construct two multisets of one sum. That
// only makes a count larger; the sample digest identifies the rows of a certificate.
type Multiset struct {
	Count uint64
	Sum   [4]uint64 // modulo 2²⁵⁶, least significant first
}

// targetPrefix keeps hashes of values apart from all others.
const targetPrefix = "pacsgp/target/1\x00"

// Add adds values, none of them NaN. -0 is 0.
func (m *Multiset) Add(values []float64) {
	var text [len(targetPrefix) + 8]byte
	copy(text[:], targetPrefix)
	for _, v := range values {
		if v == 0 {
			v = 0 // not -0
		}
		binary.LittleEndian.PutUint64(text[len(targetPrefix):], math.Float64bits(v))
		m.AddDigest(sha256.Sum256(text[:]))
	}
}

// AddDigest adds a value by its hash.
func (m *Multiset) AddDigest(h [32]byte) {
	m.Merge(Multiset{1, [4]uint64{
		binary.LittleEndian.Uint64(h[0:]), binary.LittleEndian.Uint64(h[8:]),
		binary.LittleEndian.Uint64(h[16:]), binary.LittleEndian.Uint64(h[24:]),
	}})
}

// Merge adds another multiset.
func (m *Multiset) Merge(other Multiset) {
	m.Count += other.Count
	var carry uint64
	for i := range m.Sum {
		m.Sum[i], carry = bits.Add64(m.Sum[i], other.Sum[i], carry)
	}
}

// Digest is the SHA-256 of the multiset.
func (m *Multiset) Digest() job.Digest {
	text := binary.LittleEndian.AppendUint64([]byte("pacsgp/targets/1\x00"), m.Count)
	for _, x := range m.Sum {
		text = binary.LittleEndian.AppendUint64(text, x)
	}
	return sha256.Sum256(text)
}
