// Package pass implements the two passes that read all rows. The first finds scaling, digests and prior rows. The last
// scores a model on every row, and [Certify] makes the certificate from its result. Both passes can be made in parts,
// which merge in any order to the same bytes.
package pass

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// ErrPart marks parts that do not make up a pass: one is damaged, missing, duplicated, or of another pass.
var ErrPart = errors.New("parts of a pass")

// A Pass is the result of reading some or all shards of a dataset once. Passes of different shards can be merged. The
// bytes of [Pass.Write] do not depend on the parts, their order or the number of workers, so that several machines may
// make the parts.
//
// Counts and sums of losses are exact. Other sums of floating-point numbers are stored for each shard, and added in the
// order of the shards at the end.
//
// Only one goroutine at a time may call its methods. Close it after use.
type Pass struct {
	of         subject
	shards     map[int]*ShardPass
	lossSums   certify.LossSums
	units      *unitSums      // losses by unit, from which count completes lossSums; nil if examples are rows
	marks      *counter       // of all rows of the shards; nil if duplicates were counted in an earlier reading
	duplicates job.Duplicates // of the whole dataset, from that reading

	held *HeldOut // nil in a last pass
}

// HeldOut are held-out rows by position and target, and then these with the left-out rows that would be held out. With the
// latter, the digest does not depend on which rows are duplicates, and so on the features.
type HeldOut [2]dataset.Multiset

// Digests returns the digests of both. If none is left out, they are equal.
func (h HeldOut) Digests() [2]job.Digest { return [2]job.Digest{h[0].Digest(), h[1].Digest()} }

func (h *HeldOut) merge(other HeldOut) {
	for i := range h {
		h[i].Merge(other[i])
	}
}

// A subject identifies what a pass is about. Only passes with equal subjects can be merged.
type subject struct {
	rows          int64 // of the sample
	bad           int64 // rows that break a row rule
	outside       int64 // rows that the column of the mean was fitted on
	shards        int
	columns       int
	layout        job.Digest // of the shards' first ordinals and rows
	model         job.Digest // zero for a first pass, in which no row is scored
	configuration job.Digest // of the job
	sample        job.Digest // of the rows that training has read
	constant      float64    // of the baseline
	groups        string     // values with a group of their own, by [dataset.Packed]
	secret        job.Digest // of the secret of the marks; zero if there are no marks
}

// A ShardPass is the result for one shard.
type ShardPass struct {
	first, rows int64
	Columns     []dataset.ColumnDigest
	targets     dataset.Multiset
	Kept        []float64 // all columns of the rows that the pass collects, in the order of their ordinals
	summaries   []summary // one for each column in a first pass

	targetsInOrder series // of the scaled targets of prior and training rows, in a last pass
}

// A summary describes a column's values in a shard.
type summary struct {
	first float64
	one   bool // whether all values equal the first
}

// Merge moves the shards of other into p, which then owns the resources of other. If the passes are of different
// datasets, models, jobs or secrets, or have a shard in common, Merge changes nothing and returns an error that wraps
// [ErrPart].
func (p *Pass) Merge(other *Pass) error {
	if err := p.of.same(other.of); err != nil {
		return err
	}
	for _, i := range slices.Sorted(maps.Keys(other.shards)) {
		if _, ok := p.shards[i]; ok {
			return fmt.Errorf("%w: shard %d of %d was read twice: is a part given twice?", ErrPart, i+1, p.of.shards)
		}
	}
	if (p.held == nil) != (other.held == nil) {
		return fmt.Errorf("%w: one is of a first pass, and one of a last", ErrPart)
	}
	if (p.marks == nil) != (other.marks == nil) || p.duplicates != other.duplicates {
		return fmt.Errorf("%w: they found different duplicates: were rows changed meanwhile?", ErrPart)
	}
	lossSums := p.lossSums.Clone()
	if err := lossSums.Merge(other.lossSums); err != nil {
		return fmt.Errorf("%w: %w", ErrPart, err)
	}
	p.lossSums = lossSums
	maps.Copy(p.shards, other.shards)
	if p.marks != nil {
		p.marks.merge(other.marks)
	}
	if p.held != nil {
		p.held.merge(*other.held)
	}
	other.shards, other.lossSums = nil, nil
	return nil
}

// Size returns the numbers of shards and rows that the pass has read.
func (p *Pass) Size() (shards int, rows int64) {
	for _, s := range p.shards {
		rows += s.rows
	}
	return len(p.shards), rows
}

// Close frees the memory and the temporary files of the pass.
func (p *Pass) Close() error {
	if p.marks == nil {
		return nil
	}
	return p.marks.close()
}

// same returns an error that names the difference of two subjects.
func (s subject) same(other subject) error {
	switch {
	case s == other:
		return nil
	case s.model != other.model:
		return fmt.Errorf("%w: one is of another model: %.12s… and %.12s…", ErrPart, s.model, other.model)
	case s.configuration != other.configuration:
		return fmt.Errorf("%w: one is of another job: %.12s… and %.12s…", ErrPart, s.configuration, other.configuration)
	case s.rows != other.rows || s.bad != other.bad || s.outside != other.outside || s.shards != other.shards || s.columns != other.columns || s.layout != other.layout || s.sample != other.sample:
		return fmt.Errorf("%w: one is of another sample: %d and %d rows in %d and %d shards", ErrPart, s.rows, other.rows, s.shards, other.shards)
	default:
		return fmt.Errorf("%w: one belongs to another run of training", ErrPart)
	}
}

// missing returns an error that names the first missing shards, or nil if none is missing.
func (p *Pass) missing() error {
	if len(p.shards) == p.of.shards {
		if _, rows := p.Size(); rows != p.of.rows {
			return fmt.Errorf("%w: their shards have %d rows, and the sample %d", ErrPart, rows, p.of.rows)
		}
		return nil
	}
	from, to, row := 0, p.of.shards, int64(0)
	for _, i := range slices.Sorted(maps.Keys(p.shards)) {
		if i > from {
			to = i
			break
		}
		from, row = i+1, row+p.shards[i].rows
	}
	return fmt.Errorf("%w: %d of %d shards are in no part (the first: shards %d to %d, from row %d on): name all parts, and make missing ones again",
		ErrPart, p.of.shards-len(p.shards), p.of.shards, from+1, to, row)
}

// InOrder returns the results for the shards that the pass has read, in their order.
func (p *Pass) InOrder() []*ShardPass {
	all := make([]*ShardPass, 0, len(p.shards))
	for _, i := range slices.Sorted(maps.Keys(p.shards)) {
		all = append(all, p.shards[i])
	}
	return all
}

// digests returns the digests of the sample, over these columns, and of its targets.
func (p *Pass) digests(used []int) (sample, targets job.Digest) {
	var sum dataset.Multiset
	for _, s := range p.InOrder() {
		sum.Merge(s.targets)
	}
	return dataset.SampleDigest(p.ShardDigests(used)), sum.Digest()
}

// ShardDigests returns the digests of the shards, in order, over these columns, or over all columns if used is nil.
func (p *Pass) ShardDigests(used []int) []job.Digest {
	if used == nil {
		used = dataset.Indices(p.of.columns)
	}
	var all []job.Digest
	for _, s := range p.InOrder() {
		columns := make([]dataset.ColumnDigest, len(used))
		for i, c := range used {
			columns[i] = s.Columns[c]
		}
		all = append(all, dataset.ShardDigest(s.first, s.rows, columns))
	}
	return all
}

// picked returns those kept rows that have these ordinals. all are the ordinals of all kept rows. Both ascend.
func (p *Pass) picked(all, ordinals []int64) dataset.RawRows {
	out := dataset.NewRawRows(p.of.columns, make([]float64, len(ordinals)*p.of.columns))
	i := 0
	for _, s := range p.InOrder() {
		for kept := s.Kept; len(kept) > 0; kept = kept[p.of.columns:] {
			if i < len(ordinals) && all[0] == ordinals[i] {
				copy(out.Row(i), kept)
				i++
			}
			all = all[1:]
		}
	}
	return out
}

// rows returns the kept rows, in the order of their ordinals.
func (p *Pass) rows() dataset.RawRows {
	var values []float64
	for _, s := range p.InOrder() {
		values = append(values, s.Kept...)
	}
	return dataset.NewRawRows(p.of.columns, values)
}

// A Part is one of several parts of a pass, which have about equal numbers of rows.
type Part struct{ Number, Of int } // 1 ≤ Number ≤ Of

// Whole is the only part of an undivided pass.
var Whole = Part{1, 1}

// String returns the part in the form 1/2.
func (p Part) String() string { return fmt.Sprintf("%d/%d", p.Number, p.Of) }

// Shards returns the indices of the shards whose first row is in the part. They are consecutive. There may be none, for
// example if there are more parts than shards.
func (p Part) Shards(all []dataset.Shard) []int {
	var n int64
	for _, s := range all {
		n += s.Rows
	}
	from, to := dataset.ShareOf(n, int64(p.Number-1), int64(p.Of)), dataset.ShareOf(n, int64(p.Number), int64(p.Of))
	mine := []int{}
	for i, s := range all {
		if from <= s.First && (s.First < to || p.Number == p.Of) {
			mine = append(mine, i)
		}
	}
	return mine
}
