package pipeline

import (
	"math/bits"
	"sync/atomic"
)

// An ordinalSet is a set of ordinals below a limit, in one bit each. A nil set is
// empty.
type ordinalSet struct {
	words  []uint64
	before []int64 // members before each group of groupWords words; after seal
	n      int64   // members; after seal
}

const groupWords = 64

func newOrdinalSet(limit int64) *ordinalSet {
	return &ordinalSet{words: make([]uint64, (limit+63)/64)}
}

// add adds an ordinal. Several goroutines may do so.
func (s *ordinalSet) add(ordinal int64) {
	atomic.OrUint64(&s.words[ordinal>>6], 1<<(ordinal&63))
}

// seal ends the additions: members can be counted then.
func (s *ordinalSet) seal() {
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

func (s *ordinalSet) has(ordinal int64) bool {
	return s != nil && s.words[ordinal>>6]>>(ordinal&63)&1 == 1
}

// size is the number of members.
func (s *ordinalSet) size() int64 {
	if s == nil {
		return 0
	}
	return s.n
}

// countBefore is the number of members below an ordinal, which may be the limit.
func (s *ordinalSet) countBefore(ordinal int64) int64 {
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
