package pass

import (
	"context"
	"errors"

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
