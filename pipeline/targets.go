package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
)

// A multiset is a digest of values in any order: the sum of their hashes. Neither the order of
// rows, nor files, row groups, workers or features change it, so that attempts on the same rows
// are counted under it. docs/format.md, section "Digest of the targets", specifies it.
//
// The sum of hashes is weaker than a hash: somebody may construct two multisets of one sum. That
// only makes a count larger; the sample digest identifies the rows of a certificate.
type multiset struct {
	count uint64
	sum   [4]uint64 // modulo 2²⁵⁶, least significant first
}

// targetPrefix keeps hashes of values apart from all others.
const targetPrefix = "pacsgp/target/1\x00"

// add adds values, none of them NaN. -0 is 0.
func (m *multiset) add(values []float64) {
	var text [len(targetPrefix) + 8]byte
	copy(text[:], targetPrefix)
	for _, v := range values {
		if v == 0 {
			v = 0 // not -0
		}
		binary.LittleEndian.PutUint64(text[len(targetPrefix):], math.Float64bits(v))
		m.addDigest(sha256.Sum256(text[:]))
	}
}

// addDigest adds a value by its hash.
func (m *multiset) addDigest(h [32]byte) {
	m.merge(multiset{1, [4]uint64{
		binary.LittleEndian.Uint64(h[0:]), binary.LittleEndian.Uint64(h[8:]),
		binary.LittleEndian.Uint64(h[16:]), binary.LittleEndian.Uint64(h[24:]),
	}})
}

func (m *multiset) merge(other multiset) {
	m.count += other.count
	var carry uint64
	for i := range m.sum {
		m.sum[i], carry = bits.Add64(m.sum[i], other.sum[i], carry)
	}
}

func (m *multiset) digest() Digest {
	text := binary.LittleEndian.AppendUint64([]byte("pacsgp/targets/1\x00"), m.count)
	for _, x := range m.sum {
		text = binary.LittleEndian.AppendUint64(text, x)
	}
	return sha256.Sum256(text)
}
