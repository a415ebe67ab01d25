package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model"
)

// The first pass can be made in parts, as the last one: a part of either is a [Pass], of the same format,
// and made through a [Handover]. The roles, which follow from the numbers of rows in the files, are told to
// the parts. Where they follow from values, as with duplicates: drop and tolerated bad rows,
// two readings would be needed, and training reads the rows itself.
//
// What parts say of the rows makes features, scaling, start values and the model. The last pass finds all of
// it anew that the certificate claims, but does not read the columns that are left out: see leftOut.

// A Parts has a pass over these shards made in parts, by [Handover.Prepare], and lends them, merged, to use.
type Parts func(ctx context.Context, h *Handover, shards []Shard, use func(*Pass) error) error

// ErrUntrained is the error of a handover that is for a first pass, where that of a last one is needed.
var ErrUntrained = errors.New("the handover is for a first pass, of a training that has not ended: train again")

// First reports whether the handover is for a first pass.
func (h *Handover) First() bool { return h.Model == "" }

// surveys makes the pass a first one.
func (p *rowPass) surveys() {
	p.wanted, p.summaries, p.holds = ordinals(p.roles.starts()), true, true
}

// inParts has the pass made in parts.
func (p *rowPass) inParts(ctx context.Context, job Job, columns []string, parts Parts, see func(*Pass) error) error {
	configuration, err := job.canonical()
	if err != nil {
		return err
	}
	h := &Handover{
		Format: HandoverFormat, Arithmetic: model.Arithmetic, Configuration: configuration, Sequence: job.sequence,
		Columns: columns, Distinct: p.columns, Secret: p.secret.String(),
	}
	h.tell(job, p.roles)
	return parts(ctx, h, p.shards, see)
}

// prepareFirst prepares a first pass over a source.
func (h *Handover) prepareFirst(ctx context.Context, src Source, job Job, hidden secret, res Resources) (*Prepared, error) {
	if columns := src.Columns(); !slices.Equal(columns, h.Columns) {
		return nil, fmt.Errorf("%w: the source has the columns %q, and had %q", ErrChanged, columns, h.Columns)
	}
	rows, err := beginPass(ctx, src, job, h.Distinct, hidden, h.told(job), res)
	if err != nil {
		return nil, err
	}
	rows.surveys()
	return &Prepared{rows}, nil
}

// owns returns an error unless a first pass over all rows has what this one is for, the rows with these
// ordinals among it.
func (p *rowPass) owns(found *Pass, kept []int64) error {
	if err := errors.Join(p.of.same(found.of), found.missing()); err != nil {
		return err
	}
	for i, shard := range p.shards {
		s, columns := found.shards[i], found.of.columns
		if s.first != shard.First || s.rows != shard.Rows || len(s.kept) != columns*len(shard.among(kept)) || s.rows > 0 && len(s.summaries) != columns {
			return fmt.Errorf("%w: of %s one has not what a first pass is for", ErrPart, shard.Name)
		}
		if !p.usable(s.kept) {
			return fmt.Errorf("%w: of %s one has values that no source gives", ErrPart, shard.Name)
		}
	}
	if found.held == nil {
		return fmt.Errorf("%w: they are none of a first pass", ErrPart)
	}
	return nil
}

// leftOut returns an error unless the columns that a first pass in parts leaves out, for their one value on
// the reference rows, have these values there. The prior may not depend on other rows, and the features are
// a part of it. It reads no other column but the target, and only shards with reference rows.
func (s *Survey) leftOut(ctx context.Context, env Environment) error {
	var names []string
	var at []int
	for c, name := range s.Columns {
		if !slices.Contains(s.Used, c) {
			names, at = append(names, name), append(at, c)
		}
	}
	if len(names) == 0 {
		return nil
	}
	src, err := env.Open(ctx, names)
	if err != nil {
		return err
	}
	var order []int
	for i, shard := range src.Shards() {
		if len(shard.among(s.Roles.reference)) > 0 {
			order = append(order, i)
		}
	}
	next := 0 // reference row
	err = stream(ctx, src, order, env.Resources.Workers, func(b block) error {
		for _, ordinal := range (Shard{First: b.first, Rows: int64(b.rows)}).among(s.Roles.reference) {
			for i, c := range at {
				if v, told := b.columns[i][ordinal-b.first], s.reference.row(next)[c]; math.Float64bits(v) != math.Float64bits(told) {
					return fmt.Errorf("%w: column %q is %v in row %d, a reference row, and the first pass had %v", ErrChanged, names[i], v, ordinal, told)
				}
			}
			next++
		}
		return nil
	})
	if err == nil && next != s.reference.n {
		err = fmt.Errorf("%w: there are %d of %d reference rows", ErrChanged, next, s.reference.n)
	}
	return err
}

// usable reports whether the values of kept rows are such as a source gives: finite, but for missing ones.
func (p *rowPass) usable(kept []float64) bool {
	names := p.src.Columns()
	for i, v := range kept {
		if v-v != 0 && (math.IsInf(v, 0) || !p.job.sifts() && !p.job.Encode.Fills(names[i%len(names)])) {
			return false
		}
	}
	return true
}
