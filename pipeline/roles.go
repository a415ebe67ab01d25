package pipeline

import (
	"cmp"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
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
// endian). Roles depend on it and on nothing else: neither files nor workers choose who is
// certified on. Who may sort the rows by their values does (docs/certificate.md).
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

// firstByHash returns the k rows of lowest rank among the ordinals from..to-1 but
// those left out, in the order of their rank. It keeps O(k) memory for each
// worker.
func firstByHash(ctx context.Context, key string, from, to, k int64, without func(rank) bool, workers int) ([]rank, error) {
	parts := int64(max(workers, 1))
	found := make([][]rank, parts)
	var running sync.WaitGroup
	for i := range parts {
		running.Go(func() {
			found[i] = lowest(ctx, key, from+share(to-from, i, parts), from+share(to-from, i+1, parts), k, without)
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, rank.compare)
	return all[:min(k, int64(len(all)))], nil
}

// share is where the i-th of so many equal parts of n rows begins, without a
// product that a claimed number of rows could make too large.
func share(n, i, parts int64) int64 {
	return n/parts*i + n%parts*i/parts
}

// hashedAtOnce is how many rows are hashed before the context is looked at: some
// milliseconds.
const hashedAtOnce = 1 << 16

// lowest returns the rows of lowest rank among the ordinals from..to-1 but those
// left out, at most k. It ends early, with fewer, if the context does.
func lowest(ctx context.Context, key string, from, to, k int64, without func(rank) bool) []rank {
	hasher := newRoleHasher(key)
	top := make(rankHeap, 0, min(k, to-from))
	for i := from; i < to; i++ {
		if (i-from)%hashedAtOnce == 0 && ctx.Err() != nil {
			return nil
		}
		r := hasher.rank(i)
		switch {
		case without(r) || k == 0:
		case int64(len(top)) < k:
			heap.Push(&top, r)
		case r.hash > top[0].hash: // nearly all
		case r.compare(top[0]) < 0:
			top[0] = r
			heap.Fix(&top, 0)
		}
	}
	return top
}

// A leftOut has the unused rows. A row is in at most one of the sets.
type leftOut struct {
	bad    *ordinalSet // rows that break a row rule; nil unless the job tolerates some
	copies *ordinalSet // rows that equal an earlier one; nil unless the job drops copies
}

func (o leftOut) none() bool { return o.bad == nil && o.copies == nil }

func (o leftOut) has(ordinal int64) bool { return o.bad.has(ordinal) || o.copies.has(ordinal) }

func (o leftOut) size() int64 { return o.bad.size() + o.copies.size() }

func (o leftOut) countBefore(ordinal int64) int64 {
	return o.bad.countBefore(ordinal) + o.copies.countBefore(ordinal)
}

// keptApart are the rows that apart selects, of n rows without those left out.
func keptApart(ctx context.Context, key string, n int64, apart func(rank) bool, out leftOut, workers int) (*ordinalSet, error) {
	set := newOrdinalSet(n)
	_, err := firstByHash(ctx, key, 0, n, 0, func(x rank) bool {
		if apart(x) && !out.has(x.ordinal) {
			set.add(x.ordinal)
		}
		return true
	}, workers)
	set.seal()
	return set, err
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

// Roles says what each row of a sample may be used for. A row has one role:
// reference, train, holdout or outside; or it is left out, as a copy or a bad row.
type Roles struct {
	Rows      int64
	reference []int64     // ordinals of the reference rows, ascending
	holdout   *ordinalSet // nil unless the job has hold-out rows
	outside   *ordinalSet // rows that the column of the mean was fitted on; nil unless the job has some
	out       leftOut
	units     *certify.UnitLedger // nil: examples are rows
	order     []rank              // the first rows by the rule that are train rows or become reference rows: reference rows, start rows
}

// hashUnits is a share of the 2⁶⁴ hashes, rounded down.
func hashUnits(share float64) uint64 { return uint64(math.Floor(share * 0x1p64)) } // the product is exact: a power of two

// rule is the one of a job for a sample of n rows.
func (j Job) rule(n int64) roleRule {
	d := j.Roles
	rule := roleRule{d.Key, hashUnits(d.Holdout), hashUnits(d.Outside), n}
	if d.Last {
		rule.held, rule.last = 0, n-int64(d.Holdout*float64(n))
	}
	return rule
}

// byReference reports whether the scaling comes from reference rows: only then there are any.
func (s Scaling) byReference() bool { return s != ScalingNone }

// references is how many of n rows are reference rows in a job.
func (j Job) references(n int64) int64 {
	if !j.Scaling.byReference() {
		return 0
	}
	return ReferenceCount(n)
}

// A roleRule takes the rows of lowest rank for reference rows. A row is a hold-out row if
// its hash is among the uppermost share of all hashes, or where the job says so if it is among
// the last ones, whatever n is; and outside if its hash is in the share below.
type roleRule struct {
	key           string
	held, without uint64 // numbers of hashes of hold-out rows and of outside rows
	last          int64  // ordinal from which on all are hold-out rows
}

func (r roleRule) heldOut(x rank) bool { return ^x.hash < r.held || x.ordinal >= r.last }

func (r roleRule) outside(x rank) bool { return !r.heldOut(x) && ^x.hash-r.held < r.without }

// newRoles assigns the roles of a sample of n rows by the job's rule: hold-out rows and outside
// rows; the first of the others are reference rows, if the scaling comes from them; the rest are
// train rows. Rows that are left out have no role, and change no role of others. The number of
// workers changes no result.
func newRoles(ctx context.Context, job Job, n int64, out leftOut, workers int) (Roles, error) {
	rule := job.rule(n)
	reference := ReferenceCount(n)
	r := rolesOf(job, n, out)
	var err error // unless rows are left out, one reading of the hashes, of which there are as many as rows, finds all roles
	if r.order, err = firstByHash(ctx, rule.key, 0, n, max(startRows, reference), r.setApart(rule), workers); err != nil {
		return r, err
	}
	r.holdout.seal()
	r.outside.seal()
	if !job.Scaling.byReference() {
		return r, nil
	}
	first := r.order
	if !out.none() {
		apart := func(x rank) bool { return rule.heldOut(x) || rule.outside(x) }
		if first, err = firstByHash(ctx, rule.key, 0, n, reference, apart, workers); err != nil {
			return r, err
		}
	}
	for _, x := range first[:min(reference, int64(len(first)))] {
		if !out.has(x.ordinal) {
			r.reference = append(r.reference, x.ordinal)
		}
	}
	slices.Sort(r.reference)
	return r, nil
}

// rolesOf are the roles of n rows before any row has one.
func rolesOf(job Job, n int64, out leftOut) Roles {
	r := Roles{Rows: n, out: out}
	if job.Roles.Holdout > 0 {
		r.holdout = newOrdinalSet(n)
	}
	if job.Roles.Outside > 0 {
		r.outside = newOrdinalSet(n)
	}
	return r
}

// setApart returns a function that reports whether a row is neither reference row nor train row, and
// makes it a hold-out row or an outside row if it is one. Several goroutines may call it.
func (r Roles) setApart(rule roleRule) func(rank) bool {
	return func(x rank) bool {
		switch {
		case r.out.has(x.ordinal):
		case rule.heldOut(x):
			r.holdout.add(x.ordinal)
		case rule.outside(x):
			r.outside.add(x.ordinal)
		default:
			return false
		}
		return true
	}
}

// Reference is the number of reference rows.
func (r Roles) Reference() int64 { return int64(len(r.reference)) }

// Copies is the number of rows with the role copy.
func (r Roles) Copies() int64 { return r.out.copies.size() }

// Bad is the number of rows that break a row rule.
func (r Roles) Bad() int64 { return r.out.bad.size() }

// Train is the number of train rows: the N of the bound.
func (r Roles) Train() int64 {
	return r.Rows - r.Reference() - r.out.size() - r.Holdout() - r.Outside()
}

// Holdout is the number of hold-out rows.
func (r Roles) Holdout() int64 { return r.holdout.size() }

// Outside is the number of outside rows.
func (r Roles) Outside() int64 { return r.outside.size() }

// first returns the first rows by the rule that are not left out, k of them or all that
// there are, in their order. k is at most [startRows], or the number
// of reference rows.
func (r Roles) first(k int64) []rank { return r.order[:min(k, int64(len(r.order)))] }

// starts are the rows that a first pass keeps: the reference rows, and the others of lowest rank.
func (r Roles) starts() []rank { return r.first(max(startRows, r.Reference())) }

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
	return ordinal - int64(lo) - r.out.countBefore(ordinal) - r.holdout.countBefore(ordinal) - r.outside.countBefore(ordinal)
}

// kept calls use with the maximal runs [from, to) of rows of a block that are not
// left out.
func (r Roles) kept(b block, use func(from, to int) error) error {
	return without(r.out.bad, r.out.copies, b, 0, b.rows, use)
}

// open calls use with the maximal runs [from, to) of rows of a block that are reference or
// train rows.
func (r Roles) open(b block, use func(from, to int) error) error {
	return r.kept(b, func(from, to int) error { return without(r.holdout, r.outside, b, from, to, use) })
}

// without calls use with the maximal runs of rows from..to−1 of a block that are no
// members of two sets.
func without(one, other *ordinalSet, b block, from, to int, use func(from, to int) error) error {
	return outside(one, b, from, to, func(from, to int) error { return outside(other, b, from, to, use) })
}

// outside does so with one set.
func outside(set *ordinalSet, b block, from, to int, use func(from, to int) error) error {
	if set == nil {
		return use(from, to)
	}
	for from < to {
		end := from
		for end < to && !set.has(b.first+int64(end)) {
			end++
		}
		if end > from {
			if err := use(from, end); err != nil {
				return err
			}
		}
		from = end + 1
	}
	return nil
}

// runs calls use with the maximal runs [from, to) of rows of a block that are
// train rows.
func (r Roles) runs(b block, use func(from, to int) error) error {
	return r.open(b, func(from, end int) error {
		for _, ordinal := range r.referenceIn(b.first+int64(from), b.first+int64(end)) {
			to := int(ordinal - b.first)
			if to > from {
				if err := use(from, to); err != nil {
					return err
				}
			}
			from = to + 1
		}
		if from < end {
			return use(from, end)
		}
		return nil
	})
}

// yardstick returns the ordinals of the rows to choose the baseline's constant on, ascending: the
// reference rows, or the start rows if there are none.
func (r Roles) yardstick() []int64 {
	if r.Reference() > 0 {
		return r.reference
	}
	return ordinals(r.first(startRows))
}

// ordinals are those of ranks, ascending.
func ordinals(ranks []rank) []int64 {
	out := make([]int64, len(ranks))
	for i, r := range ranks {
		out[i] = r.ordinal
	}
	slices.Sort(out)
	return out
}

// heldOut calls use with the place in a block of each hold-out row.
func (r Roles) heldOut(b block, use func(i int) error) error {
	if r.holdout == nil {
		return nil
	}
	for i := range b.rows {
		if r.holdout.has(b.first + int64(i)) {
			if err := use(i); err != nil {
				return err
			}
		}
	}
	return nil
}
