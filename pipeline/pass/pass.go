// Package pass has the fold over all rows. The first pass finds scaling, digests and prior rows; the
// last one scores a model on every row. Both give partial results that merge in any order to the same
// bytes. From the last one, [Certify] makes the certificate.
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

// ErrPart says that parts do not make up a pass: one is damaged, missing, duplicated, or of
// another pass.
var ErrPart = errors.New("parts of a pass")

// A Pass is the result of one reading of some or all shards of a sample: a partial result of the
// fold over its rows. Passes through different shards merge. The bytes of [Pass.Write] are the
// same whatever the parts, their order and the number of workers, so that several machines may make
// the parts.
//
// Counts and sums of losses are exact. Other sums of floating-point numbers are kept by shard, and
// added in the order of the shards at the end.
//
// Its methods are for one goroutine at a time. Close it after use.
type Pass struct {
	of         subject
	shards     map[int]*ShardPass
	lossSums   certify.LossSums
	units      *unitSums      // behind the loss sums, if examples are units; nil: they are rows
	marks      *counter       // of all rows of the shards; nil if duplicates were counted in an earlier pass
	duplicates job.Duplicates // of the whole sample, from that pass

	held *dataset.Multiset // of a first pass: its held-out rows; nil: of a last one
}

// A subject identifies the work of a pass. Only passes with the same one merge.
type subject struct {
	rows          int64 // of the sample
	bad           int64 // rows that break a row rule
	outside       int64 // rows that the column of the mean was fitted on
	shards        int
	columns       int
	layout        job.Digest // of the shards' first ordinals and rows
	model         job.Digest // zero: of a first pass, in which no row is scored
	configuration job.Digest // of the job
	sample        job.Digest // that training read
	constant      float64
	groups        string     // values with a group of their own, [dataset.Packed]
	secret        job.Digest // of the secret of the marks; zero: there are none
}

// A ShardPass is the result for one shard.
type ShardPass struct {
	first, rows int64
	Columns     []dataset.ColumnDigest
	targets     dataset.Multiset
	Kept        []float64 // the wanted rows, in the order of their ordinals: all columns
	summaries   []summary // one a column, if wanted

	// Of scored rows, in their order.
	targetsInOrder series // of reference and training rows
}

// A summary describes a column's values in a shard.
type summary struct {
	first float64
	one   bool // all values equal the first
}

// Merge moves the shards of other into p, which then owns its resources. Passes of different
// samples, models, jobs or secrets, and passes that share a shard, are an error that wraps
// [ErrPart] and changes nothing.
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
		p.held.Merge(*other.held)
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

// missing returns an error that names the first missing shards, nil if there are none.
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

// InOrder are the shards in their order. None is missing.
func (p *Pass) InOrder() []*ShardPass {
	all := make([]*ShardPass, 0, len(p.shards))
	for _, i := range slices.Sorted(maps.Keys(p.shards)) {
		all = append(all, p.shards[i])
	}
	return all
}

// digests are the digests of the sample, over these columns, and of its targets.
func (p *Pass) digests(used []int) (sample, targets job.Digest) {
	var sum dataset.Multiset
	for _, s := range p.InOrder() {
		sum.Merge(s.targets)
	}
	return dataset.SampleDigest(p.ShardDigests(used)), sum.Digest()
}

// ShardDigests are the digests of the shards, in order, over these columns; nil: over all.
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

// picked are the kept rows that have these ordinals, which ascend; of has those of all that were kept.
func (p *Pass) picked(of, ordinals []int64) dataset.RawRows {
	out := dataset.NewRawRows(len(ordinals), p.of.columns)
	i := 0
	for _, s := range p.InOrder() {
		for kept := s.Kept; len(kept) > 0; kept = kept[p.of.columns:] {
			if i < out.N && of[0] == ordinals[i] {
				copy(out.Row(i), kept)
				i++
			}
			of = of[1:]
		}
	}
	return out
}

// rows are the kept rows, in the order of their ordinals.
func (p *Pass) rows() dataset.RawRows {
	all := dataset.RawRows{Columns: p.of.columns}
	for _, s := range p.InOrder() {
		all.Values = append(all.Values, s.Kept...)
	}
	all.N = len(all.Values) / all.Columns
	return all
}

// A Part is one of several parts of a pass, each of about as many rows.
type Part struct{ Number, Of int } // 1 ≤ Number ≤ Of

// Whole is the one part of an undivided pass.
var Whole = Part{1, 1}

// String writes the part as in 1/2.
func (p Part) String() string { return fmt.Sprintf("%d/%d", p.Number, p.Of) }

// Shards are the shards whose first row lies in the part: consecutive ones, or none if there
// are more parts than shards.
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
