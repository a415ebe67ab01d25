package dataset

import (
	"math/bits"
	"sync/atomic"
)

// An RowSet is a set of ordinals below a limit, in one bit each. A nil set is
// empty.
type RowSet struct {
	words  []uint64
	before []int64 // members before each group of groupWords words; after seal
	n      int64   // members; after seal
}

const groupWords = 64

// NewRowSet returns an empty set of ordinals below a limit. Add its members, then seal it.
func NewRowSet(limit int64) *RowSet {
	return &RowSet{words: make([]uint64, (limit+63)/64)}
}

// Add adds an ordinal. Several goroutines may do so.
func (s *RowSet) Add(ordinal int64) {
	atomic.OrUint64(&s.words[ordinal>>6], 1<<(ordinal&63))
}

// Seal ends the additions: members can be counted then.
func (s *RowSet) Seal() {
	if s == nil {
		return
	}
	for i, w := range s.words {
		if i%groupWords == 0 {
			s.before = append(s.before, s.n)
		}
		s.n += int64(bits.OnesCount64(w))
	}
}

// Has reports whether an ordinal is a member, also while others are added. A nil set has none.
func (s *RowSet) Has(ordinal int64) bool {
	return s != nil && atomic.LoadUint64(&s.words[ordinal>>6])>>(ordinal&63)&1 == 1
}

// Size is the number of members.
func (s *RowSet) Size() int64 {
	if s == nil {
		return 0
	}
	return s.n
}

// CountBefore is the number of members below an ordinal, which may be the limit.
func (s *RowSet) CountBefore(ordinal int64) int64 {
	if s == nil {
		return 0
	}
	word := ordinal >> 6
	if word == int64(len(s.words)) {
		return s.n
	}
	n := s.before[word/groupWords]
	for _, w := range s.words[word/groupWords*groupWords : word] {
		n += int64(bits.OnesCount64(w))
	}
	return n + int64(bits.OnesCount64(s.words[word]&(1<<(ordinal&63)-1)))
}
