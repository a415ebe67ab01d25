package pipeline

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
)

// MaxReference is the largest number of reference rows.
const MaxReference = 20_000

// ReferenceCount returns the number of reference rows among n rows:
// min(20000, max(⌊n/20⌋, min(200, ⌊n/10⌋))). docs/format.md, section "Roles".
func ReferenceCount(n int64) int64 {
	return min(MaxReference, max(n/20, min(200, n/10)))
}

// A rank is a row's place in the keyed order of all rows: by hash, and by
// ordinal where two hashes are equal.
type rank struct {
	hash    uint64
	ordinal int64
}

func (a rank) compare(b rank) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.ordinal, b.ordinal))
}

// roleHasher computes the keyed hash of ordinals: the first 8 bytes, big
// endian, of SHA-256("pacsgp/roles/1" 0x00 ‖ key ‖ 0x00 ‖ ordinal as 8 bytes big
// endian). Roles depend on it and on nothing else, so no property of a row's
// values, of files or of workers can choose who is certified on.
type roleHasher struct{ buf []byte }

func newRoleHasher(key string) *roleHasher {
	buf := append([]byte("pacsgp/roles/1\x00"), key...)
	buf = append(buf, make([]byte, 9)...)
	return &roleHasher{buf}
}

func (h *roleHasher) rank(ordinal int64) rank {
	binary.BigEndian.PutUint64(h.buf[len(h.buf)-8:], uint64(ordinal)) //nolint:gosec // ordinals are not negative
	sum := sha256.Sum256(h.buf)
	return rank{binary.BigEndian.Uint64(sum[:8]), ordinal}
}

// firstByHash returns the k rows of lowest rank among the ordinals 0..n-1, in
// the order of their rank. It keeps O(k) memory for each worker.
func firstByHash(key string, n, k int64, workers int) []rank {
	parts := int64(max(workers, 1))
	found := make([][]rank, parts)
	var running sync.WaitGroup
	for i := range parts {
		running.Go(func() { found[i] = lowest(key, n*i/parts, n*(i+1)/parts, k) })
	}
	running.Wait()
	all := slices.Concat(found...)
	slices.SortFunc(all, rank.compare)
	return all[:min(k, n)]
}

// lowest returns the rows of lowest rank among the ordinals from..to-1, at most k.
func lowest(key string, from, to, k int64) []rank {
	hasher := newRoleHasher(key)
	top := make(rankHeap, 0, min(k, to-from))
	for i := from; i < to; i++ {
		r := hasher.rank(i)
		switch {
		case int64(len(top)) < k:
			heap.Push(&top, r)
		case r.compare(top[0]) < 0:
			top[0] = r
			heap.Fix(&top, 0)
		}
	}
	return top
}

// rankHeap has the highest rank on top.
type rankHeap []rank

func (h rankHeap) Len() int           { return len(h) }
func (h rankHeap) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h rankHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *rankHeap) Push(x any)        { *h = append(*h, x.(rank)) } // only rank is pushed
func (h *rankHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// Roles says what each row of a sample may be used for. A row has one role.
type Roles struct {
	Key       string
	Rows      int64
	reference []int64 // ordinals of the reference rows, ascending
	order     []rank  // the first rows by rank: reference rows, start rows
}

// NewRoles assigns the roles of a sample of n rows: the reference rows are the
// ReferenceCount(n) rows of lowest rank, or none if the scaling is declared;
// all other rows are train rows. The number of workers changes no result.
func NewRoles(key string, n int64, declaredScaling bool, workers int) Roles {
	reference := ReferenceCount(n)
	r := Roles{Key: key, Rows: n, order: firstByHash(key, n, max(startRows, reference), workers)}
	if declaredScaling {
		return r
	}
	for _, x := range r.order[:reference] {
		r.reference = append(r.reference, x.ordinal)
	}
	slices.Sort(r.reference)
	return r
}

// Reference is the number of reference rows.
func (r Roles) Reference() int64 { return int64(len(r.reference)) }

// Train is the number of train rows: the N of the bound.
func (r Roles) Train() int64 { return r.Rows - r.Reference() }

// first returns the rows of lowest rank, k of them or all that there are, in the
// order of their rank. k is at most [startRows], or the number of reference rows.
func (r Roles) first(k int64) []rank { return r.order[:min(k, r.Rows)] }

// referenceIn returns the ordinals of the reference rows in [first, end).
func (r Roles) referenceIn(first, end int64) []int64 {
	lo, _ := slices.BinarySearch(r.reference, first)
	hi, _ := slices.BinarySearch(r.reference, end)
	return r.reference[lo:hi]
}

// trainIndex returns the number of train rows before an ordinal: a train
// row's place among the train rows.
func (r Roles) trainIndex(ordinal int64) int64 {
	lo, _ := slices.BinarySearch(r.reference, ordinal)
	return ordinal - int64(lo)
}
