package pass

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// The first pass can be made in parts, as the last one: a part of either is a [Pass], of the same format,
// and made through a [TrainingState]. The parts get the split, which follows from
// the numbers of rows in the files. Where it follows from values, as with duplicates: drop and tolerated rejected
// rows, two readings would be needed, and training reads the rows itself.
//
// What parts say of the rows makes features, scaling, start values and the model. The last pass finds all of
// it again that the certificate claims, but does not read the columns that are left out: see leftOut.

// A Parts has a pass over these shards made in parts, by [pipeline.Prepare], and lends them, merged, to use.
type Parts func(ctx context.Context, h *TrainingState, shards []dataset.Shard, use func(*Pass) error) error

// ErrUntrained is the error of a training state that is for a first pass, where that of a last one is needed.
var ErrUntrained = errors.New("the training state is for a first pass, of a training that has not ended: train again")

// First reports whether the training state is for a first pass.
func (h *TrainingState) First() bool { return h.Model == "" }

// isFirst makes the pass a first one.
func (p *rowPass) isFirst() {
	p.wanted, p.summaries, p.holds = dataset.OrdinalsOf(p.split.Starts()), true, true
}

// inParts has the pass made in parts.
func (p *rowPass) inParts(ctx context.Context, job job.Job, columns []string, parts Parts, see func(*Pass) error) error {
	configuration, err := job.Canonical()
	if err != nil {
		return err
	}
	h := &TrainingState{
		Format: TrainingStateFormat, Arithmetic: model.Arithmetic, Configuration: configuration, Sequence: job.Numbering,
		Columns: columns, Distinct: p.columns, Secret: p.secret.String(),
	}
	h.NoteSplit(job, p.split)
	return parts(ctx, h, p.shards, see)
}

// PrepareFirst prepares a first pass over a source.
func (h *TrainingState) PrepareFirst(ctx context.Context, src dataset.Source, j job.Job, hidden dataset.Secret, res job.Resources) (*Prepared, error) {
	if columns := src.Columns(); !slices.Equal(columns, h.Columns) {
		return nil, fmt.Errorf("%w: the source has the columns %s, and had %s", job.ErrChanged, strings.Join(columns, ", "), strings.Join(h.Columns, ", "))
	}
	rows, err := beginPass(ctx, src, j, h.Distinct, hidden, h.NotedSplit(j), res)
	if err != nil {
		return nil, err
	}
	rows.isFirst()
	return &Prepared{rows}, nil
}

// owns returns an error unless a first pass over all rows has what this one is for, the rows with these
// ordinals among it.
func (p *rowPass) owns(found *Pass, kept []int64) error {
	if err := errors.Join(p.of.same(found.Of), found.Missing()); err != nil {
		return err
	}
	for i, shard := range p.shards {
		s, columns := found.shards[i], found.Of.Columns
		if s.first != shard.First || s.rows != shard.Rows || len(s.Kept) != columns*len(shard.Among(kept)) || s.rows > 0 && len(s.summaries) != columns {
			return fmt.Errorf("%w: of %s one has not what a first pass is for", ErrPart, shard.Name)
		}
		if !p.usable(s.Kept) {
			return fmt.Errorf("%w: of %s one has values that no source gives", ErrPart, shard.Name)
		}
	}
	if found.held == nil {
		return fmt.Errorf("%w: they are none of a first pass", ErrPart)
	}
	return nil
}

// usable reports whether the values of kept rows are such as a source gives: finite, but for missing ones.
func (p *rowPass) usable(kept []float64) bool {
	names := p.src.Columns()
	for i, v := range kept {
		if v-v != 0 && (math.IsInf(v, 0) || !p.job.FiltersRows() && !p.job.Encode.Fills(names[i%len(names)])) {
			return false
		}
	}
	return true
}
