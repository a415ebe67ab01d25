package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
)

// A multiset adds up a hash of each of a number of values. The sum knows no
// order, so that neither the order of rows, nor files, row groups, workers or
// the features that are read beside the target change it: under it attempts on
// the same rows are counted. docs/format.md, section "Digest of the targets",
// specifies it.
//
// Who looks for two multisets of one sum may find some: the sum of hashes is
// weaker than a hash. That would only make a count larger; the rows that a
// certificate speaks of are named by the sample digest.
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
