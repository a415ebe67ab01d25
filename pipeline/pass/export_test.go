package pass

import (
	"context"
	"errors"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// LeastRecords is how many records a sorted run has at the least.
const LeastRecords = leastRecords

// A Temporary is a temporary file.
type Temporary = temporary

// CreateTemporary makes one.
func CreateTemporary() (Temporary, error) { return createTemporary() }

// CountDuplicates counts equal marks, in the file that create makes if they exceed the
// memory. later are the ordinals of later duplicates.
func CountDuplicates(ctx context.Context, marks []uint64, res job.Resources, create func() (Temporary, error)) (found job.Duplicates, later []int64, err error) {
	n := int64(len(marks))
	set := dataset.NewRowSet(n)
	c := newCounter(n, res, set)
	if create != nil {
		c.create = create
	}
	for i, m := range marks {
		if err := c.add(ctx, dataset.Block{First: int64(i), Marks: []uint64{m}}, nil); err != nil {
			return job.Duplicates{}, nil, errors.Join(err, c.close())
		}
	}
	found, err = c.count(ctx)
	for i := range n {
		if set.Has(i) {
			later = append(later, i)
		}
	}
	return found, later, errors.Join(err, c.close())
}

// Simulated is part k of the parts of a lake, each with so many shards that are all like the one shard of p. Its rows are
// counted once a shard, and none is read.
func (p *Pass) Simulated(k, parts, shards int) (*Pass, error) {
	q := &Pass{of: p.of, shards: map[int]*ShardPass{}, lossSums: certify.LossSums{}, duplicates: p.duplicates}
	times := int64(parts) * int64(shards)
	q.of.rows, q.of.shards = p.of.rows*times, parts*shards
	q.duplicates.Rows, q.duplicates.Distinct = p.duplicates.Rows*times, p.duplicates.Distinct*times
	for i := range shards {
		s := *p.shards[0]
		if s.first = int64(k*shards+i) * s.rows; s.first > 0 {
			s.Kept = nil
		}
		q.shards[k*shards+i] = &s
		if err := q.lossSums.Merge(p.lossSums); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// FoundIn makes the training state that of a pass, whose rows training never read.
func (h *TrainingState) FoundIn(p *Pass) {
	sample, targets := p.digests(dataset.Indices(p.of.columns))
	h.Sample, h.Targets, p.of.sample = sample.String(), targets.String(), sample
}
