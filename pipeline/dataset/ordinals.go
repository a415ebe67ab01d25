package dataset

import (
	"math/bits"
	"sync/atomic"
)

// A RowSet is a set of ordinals from 0 to below a limit, with one bit of memory for each. A nil set is empty.
type RowSet struct {
	words  []uint64
	before []int64 // members before each group of groupWords words; set by Seal
	n      int64   // members; set by Seal
}

const groupWords = 64

// NewRowSet returns an empty set of ordinals below a limit. Call Add for its members, then Seal.
func NewRowSet(limit int64) *RowSet {
	return &RowSet{words: make([]uint64, (limit+63)/64)}
}

// Add adds an ordinal. It may be called from several goroutines.
func (s *RowSet) Add(ordinal int64) {
	atomic.OrUint64(&s.words[ordinal>>6], 1<<(ordinal&63))
}

// Seal ends the additions. Size and CountBefore need it.
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

// Has reports whether an ordinal is a member. It may be called while others are added.
func (s *RowSet) Has(ordinal int64) bool {
	return s != nil && atomic.LoadUint64(&s.words[ordinal>>6])>>(ordinal&63)&1 == 1
}

// Size returns the number of members.
func (s *RowSet) Size() int64 {
	if s == nil {
		return 0
	}
	return s.n
}

// CountBefore returns the number of members below an ordinal, which may be the limit.
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
