package dataset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Rank is a row's position in the keyed order of all rows: by hash, and by ordinal where two hashes are equal.
type Rank struct {
	Hash    uint64
	Ordinal int64
}

func (a Rank) compare(b Rank) int {
	return cmp.Or(cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Ordinal, b.Ordinal))
}

// A SplitHasher computes the keyed hash of ordinals: the first 8 bytes, big endian, of SHA-256("pacsgp/roles/1" 0x00 ‖
// key ‖ 0x00 ‖ ordinal as 8 bytes big endian). Names of files and the number of workers do not change the split, but
// the order of the rows does (docs/explanation/certificate.md).
type SplitHasher struct{ buf []byte }

// NewSplitHasher returns a hasher with this key.
func NewSplitHasher(key string) *SplitHasher {
	buf := append([]byte("pacsgp/roles/1\x00"), key...)
	buf = append(buf, make([]byte, 9)...)
	return &SplitHasher{buf}
}

// Rank returns the rank of an ordinal.
func (h *SplitHasher) Rank(ordinal int64) Rank {
	binary.BigEndian.PutUint64(h.buf[len(h.buf)-8:], uint64(ordinal)) //nolint:gosec // ordinals are not negative
	sum := sha256.Sum256(h.buf)
	return Rank{binary.BigEndian.Uint64(sum[:8]), ordinal}
}

// FirstByHash returns, in order, the k lowest ranks of the ordinals in [from, to) for which without is false. It
// returns fewer if there are fewer. Each worker uses O(k) memory.
func FirstByHash(ctx context.Context, key string, from, to, k int64, without func(Rank) bool, workers int) ([]Rank, error) {
	parts := int64(max(workers, 1))
	found := make([][]Rank, parts)
	var running sync.WaitGroup
	for i := range parts {
		running.Go(func() {
			found[i] = lowest(ctx, key, from+ShareOf(to-from, i, parts), from+ShareOf(to-from, i+1, parts), k, without)
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, Rank.compare)
	return all[:min(k, int64(len(all)))], nil
}

// ShareOf returns where part i begins if n rows are divided into equal parts. No product overflows, whatever n a
// document claims.
func ShareOf(n, i, parts int64) int64 {
	return n/parts*i + n%parts*i/parts
}

// HashedAtOnce is the number of rows hashed between two checks of the context, a few milliseconds.
const HashedAtOnce = 1 << 16

// lowest returns ranks that include the k lowest of the ordinals in [from, to) for which without is false. It returns
// nil if ctx is done.
func lowest(ctx context.Context, key string, from, to, k int64, without func(Rank) bool) []Rank {
	hasher := NewSplitHasher(key)
	var top []Rank
	for i := from; i < to; i++ {
		if (i-from)%HashedAtOnce == 0 && ctx.Err() != nil {
			return nil
		}
		r := hasher.Rank(i)
		if !without(r) && k > 0 {
			top = keep(top, r, k)
		}
	}
	return top
}

// A LeftOut holds the rows that are not used. A row is in at most one of the sets.
type LeftOut struct {
	Bad        *RowSet // rows that break a row rule; nil unless the job tolerates some
	Duplicates *RowSet // rows that equal an earlier one; nil unless the job drops duplicates
}

// Has reports whether a row is left out.
func (o LeftOut) Has(ordinal int64) bool { return o.Bad.Has(ordinal) || o.Duplicates.Has(ordinal) }

// Size returns the number of rows that are left out.
func (o LeftOut) Size() int64 { return o.Bad.Size() + o.Duplicates.Size() }

// keep adds x to ranks that include the k > 0 lowest so far. Once there are k, the first k of the result are in order,
// and fewer than k others follow.
func keep(lowest []Rank, x Rank, k int64) []Rank {
	n := int64(len(lowest))
	if n >= k && x.compare(lowest[k-1]) > 0 {
		return lowest
	}
	lowest = append(lowest, x)
	if n+1 == k || n+1 == 2*k {
		slices.SortFunc(lowest, Rank.compare)
		lowest = lowest[:k]
	}
	return lowest
}

// A Split says what each row of a dataset may be used for. A row is a prior, training, held-out or outside row, or it
// is left out, as a duplicate or a rejected row.
type Split struct {
	Rows      int64
	PriorRows []int64 // ordinals of the prior rows, ascending
	Out       LeftOut
	Units     *certify.UnitCounts // nil if examples are rows

	heldOutRows *RowSet // nil unless the job has held-out rows
	leftHeldOut *RowSet // left-out rows that would be held out; nil unless the job has both
	outsideRows *RowSet // rows that the column of the mean was fitted on; nil unless the job has some
	order       []Rank  // of prior and training rows the lowest ranks, in order; with units, of their rows with the lowest hashes, prior rows first
}

// hashUnits returns a share of the 2⁶⁴ hashes, rounded down.
func hashUnits(share float64) uint64 { return uint64(math.Floor(share * 0x1p64)) } // the product is exact: a power of two

// RuleOf returns the job's rule for n rows.
func RuleOf(j job.Job, n int64) SplitRule {
	d := j.Split
	rule := SplitRule{d.Key, hashUnits(d.Holdout), hashUnits(d.Outside), n}
	if d.Last {
		rule.held, rule.last = 0, n-int64(d.Holdout*float64(n))
	}
	return rule
}

// A SplitRule decides which rows are held-out rows and outside rows. Rows with the highest hashes are held out, or
// instead the last rows if the job says so. Rows with the hashes below those are outside rows. Of the other rows
// those with the lowest ranks become prior rows.
type SplitRule struct {
	key           string
	held, without uint64 // numbers of hashes of held-out rows and of outside rows
	last          int64  // the first ordinal of the held-out last rows; n if there are none
}

// HeldOut reports whether a row is held out.
func (r SplitRule) HeldOut(x Rank) bool { return ^x.Hash < r.held || x.Ordinal >= r.last }

// Outside reports whether a row is an outside row, which the job does not use.
func (r SplitRule) Outside(x Rank) bool { return !r.HeldOut(x) && ^x.Hash-r.held < r.without }

// NewSplit splits n rows by the job's rule into held-out and outside rows, prior rows (if the scaling uses them) and
// training rows. Rows that are left out are in no subset, and do not change the subsets of others. The result does not
// depend on the number of workers.
func NewSplit(ctx context.Context, j job.Job, n int64, out LeftOut, workers int) (Split, error) {
	rule := RuleOf(j, n)
	prior := job.PriorCount(n)
	r := splitOf(j, n, out)
	var err error // if no rows are left out, this one pass over the hashes of all rows finds the split
	if r.order, err = FirstByHash(ctx, rule.key, 0, n, max(StartRows, prior), r.SetApart(rule), workers); err != nil {
		return r, err
	}
	r.heldOutRows.Seal()
	r.outsideRows.Seal()
	if j.Scaling == job.ScalingNone {
		return r, nil
	}
	first := r.order
	if out != (LeftOut{}) {
		apart := func(x Rank) bool { return rule.HeldOut(x) || rule.Outside(x) }
		if first, err = FirstByHash(ctx, rule.key, 0, n, prior, apart, workers); err != nil {
			return r, err
		}
	}
	for _, x := range first[:min(prior, int64(len(first)))] {
		if !out.Has(x.Ordinal) {
			r.PriorRows = append(r.PriorRows, x.Ordinal)
		}
	}
	slices.Sort(r.PriorRows)
	return r, nil
}

// SplitInOrder returns the split of n rows of which none is left out, with the rows of this order ([Split.Order]) and with
// empty sets, to which held-out and outside rows can be added.
func SplitInOrder(j job.Job, n int64, order []int64) Split {
	r := splitOf(j, n, LeftOut{})
	hasher := NewSplitHasher(j.Split.Key)
	for _, ordinal := range order {
		r.order = append(r.order, hasher.Rank(ordinal))
	}
	if k := min(j.PriorRows(n), int64(len(order))); k > 0 {
		r.PriorRows = slices.Sorted(slices.Values(order[:k]))
	}
	return r
}

// splitOf returns the split of n rows with empty sets, to which rows can be added.
func splitOf(job job.Job, n int64, out LeftOut) Split {
	r := Split{Rows: n, Out: out}
	if job.Split.Holdout > 0 {
		r.heldOutRows = NewRowSet(n)
		if out != (LeftOut{}) {
			r.leftHeldOut = NewRowSet(n)
		}
	}
	if job.Split.Outside > 0 {
		r.outsideRows = NewRowSet(n)
	}
	return r
}

// SetApart returns a function that reports whether a row is neither a prior nor a training row, and adds the row to the
// held-out or outside rows if it is one of them. The function may be called from several goroutines.
func (r Split) SetApart(rule SplitRule) func(Rank) bool {
	return func(x Rank) bool {
		switch {
		case r.Out.Has(x.Ordinal):
			if r.leftHeldOut != nil && rule.HeldOut(x) {
				r.leftHeldOut.Add(x.Ordinal)
			}
		case rule.HeldOut(x):
			r.heldOutRows.Add(x.Ordinal)
		case rule.Outside(x):
			r.outsideRows.Add(x.Ordinal)
		default:
			return false
		}
		return true
	}
}

// Prior returns the number of prior rows.
func (r Split) Prior() int64 { return int64(len(r.PriorRows)) }

// Train returns the number of training rows.
func (r Split) Train() int64 {
	return r.Rows - r.Prior() - r.Out.Size() - r.Holdout() - r.Outside()
}

// Examples returns the number of examples for training, the N of the bound: units, if examples are units, else rows.
func (r Split) Examples() int64 {
	return cmp.Or(r.Units, &certify.UnitCounts{Train: r.Train()}).Train
}

// Holdout returns the number of held-out rows.
func (r Split) Holdout() int64 { return r.heldOutRows.Size() }

// Outside returns the number of outside rows.
func (r Split) Outside() int64 { return r.outsideRows.Size() }

// First returns the k lowest ranks of prior and training rows, in order, or all if there are fewer. k is at most
// [StartRows] or the number of prior rows, whichever is larger.
func (r Split) First(k int64) []Rank { return r.order[:min(k, int64(len(r.order)))] }

// Order returns the ordinals of all rows that First can return, in order.
func (r Split) Order() (ordinals []int64) {
	for _, x := range r.order {
		ordinals = append(ordinals, x.Ordinal)
	}
	return ordinals
}

// Starts returns the ranks of the rows that a first pass stores: the prior rows, and training rows up to [StartRows].
func (r Split) Starts() []Rank { return r.First(max(StartRows, r.Prior())) }

// TrainIndex returns the number of training rows before an ordinal, which is a training row's position among them.
func (r Split) TrainIndex(ordinal int64) int64 {
	lo, _ := slices.BinarySearch(r.PriorRows, ordinal)
	return ordinal - int64(lo) - r.Out.Bad.CountBefore(ordinal) - r.Out.Duplicates.CountBefore(ordinal) - r.heldOutRows.CountBefore(ordinal) - r.outsideRows.CountBefore(ordinal)
}

// Open returns the maximal runs [from, to) of rows of a block that are prior or training rows.
func (r Split) Open(b Block) iter.Seq2[int, int] { return runs(b, r.isOpen) }

func (r Split) isOpen(ordinal int64) bool {
	return !r.Out.Has(ordinal) && !r.heldOutRows.Has(ordinal) && !r.outsideRows.Has(ordinal)
}

// HeldOut returns the maximal runs [from, to) of held-out rows of a block.
func (r Split) HeldOut(b Block) iter.Seq2[int, int] { return runs(b, r.heldOutRows.Has) }

// Holds reports whether the row with this ordinal is held out, or would be if it was not left out.
func (r Split) Holds(row int64) bool { return r.heldOutRows.Has(row) || r.leftHeldOut.Has(row) }

// Runs returns the maximal runs [from, to) of training rows of a block. The sequence can be used only once.
func (r Split) Runs(b Block) iter.Seq2[int, int] {
	prior := Shard{First: b.First, Rows: int64(b.Rows)}.Among(r.PriorRows)
	return runs(b, func(ordinal int64) bool {
		if len(prior) > 0 && prior[0] == ordinal {
			prior = prior[1:]
			return false
		}
		return r.isOpen(ordinal)
	})
}

// runs returns the maximal runs [from, to) of rows of a block for which member is true. It calls member in the order
// of the rows, and at least once for each.
func runs(b Block, member func(ordinal int64) bool) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for from := 0; from < b.Rows; from++ {
			first := from
			for from < b.Rows && member(b.First+int64(from)) {
				from++
			}
			if from > first && !yield(first, from) {
				return
			}
		}
	}
}

// BaselineRows returns, ascending, the ordinals of the rows on which the baseline's constant is chosen: the prior
// rows, or the start rows if there are none.
func (r Split) BaselineRows() []int64 {
	if r.Prior() > 0 {
		return r.PriorRows
	}
	return OrdinalsOf(r.First(StartRows))
}

// OrdinalsOf returns the ordinals of ranks, ascending.
func OrdinalsOf(ranks []Rank) []int64 {
	out := make([]int64, len(ranks))
	for i, r := range ranks {
		out[i] = r.Ordinal
	}
	slices.Sort(out)
	return out
}

// Of returns the name of the subset of a row that is no dropped duplicate.
func (r Split) Of(ordinal int64) string {
	switch {
	case r.Out.Bad.Has(ordinal):
		return "rejected"
	case r.heldOutRows.Has(ordinal):
		return string(certify.SubsetHoldout)
	case r.outsideRows.Has(ordinal):
		return "outside"
	case len(Shard{First: ordinal, Rows: 1}.Among(r.PriorRows)) > 0:
		return "prior"
	default:
		return string(certify.SubsetTraining)
	}
}
