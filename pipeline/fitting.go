package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/certify"
)

// leastFitted is the smallest number of train rows that a job may fit Q to.
const leastFitted = 100

// checkFitting finds faults of a job that fits Q to a part of its train rows.
func (j Job) checkFitting(fault func(string, ...any)) {
	t := j.Train
	if t.Rows == 0 {
		return
	}
	if t.Rows < leastFitted || t.Rows > maxRowsAtOnce {
		fault("train.rows: %d is no number of rows from %d to %d", t.Rows, leastFitted, maxRowsAtOnce)
	}
	if t.Method != MethodFreeForm {
		fault("train.rows: train.method %s reads all train rows; leave one of them out", t.Method)
	}
	if j.Unit.given() {
		fault("train.rows: it does not go with unit, whose rows belong together")
	}
}

// fitted is about how many of n train rows Q is fitted to.
func (t TrainDecl) fitted(n int64) int64 {
	if t.Rows == 0 {
		return n
	}
	return min(n, t.Rows)
}

// fitting are the roles as training sees them: of the train rows only those that Q is fitted to,
// chosen by a keyed hash of their ordinals that is independent of the one of roles. The others
// count as hold-out rows here.
func (r Roles) fitting(ctx context.Context, job Job, res Resources) (Roles, error) {
	n := r.Train()
	m := job.Train.fitted(n)
	if m == n {
		return r, nil
	}
	if need := r.Rows / 8; need > max(res.Memory, 1<<26) {
		return r, fmt.Errorf("%w: train.rows takes a bit a row, %d MiB for %s, and the job has %d MiB: give more memory", ErrData, need>>20, certify.Count(r.Rows, "row"), res.Memory>>20)
	}
	limit := job.Train.fittingLimit(n)
	passedOver := func(x rank) bool { return r.holdout.has(x.ordinal) || x.hash >= limit && r.trains(x.ordinal) }
	set, err := keptApart(ctx, job.fittingKey(), r.Rows, passedOver, r.out, res.Workers)
	r.holdout = set
	return r, err
}

// trains are the roles as training sees them.
func (s *Survey) trains(ctx context.Context, job Job, res Resources) (Roles, error) {
	if s.fitting != nil {
		return *s.fitting, nil
	}
	return s.Roles.fitting(ctx, job, res)
}

// train are the ordinals of the train rows, ascending.
func (r Roles) train() (all []int64) {
	_ = r.runs(block{rows: int(r.Rows)}, func(from, to int) error {
		for i := from; i < to; i++ {
			all = append(all, int64(i))
		}
		return nil
	})
	return all
}

// fitted are the ordinals from..to−1 of rows that Q is fitted to, ascending, if there are n train rows in
// all.
func (r Roles) fitted(ctx context.Context, job Job, n, from, to int64, workers int) (found []int64, err error) {
	limit := job.Train.fittingLimit(n)
	var mu sync.Mutex
	_, err = firstByHash(ctx, job.fittingKey(), from, to, 0, func(x rank) bool {
		if x.hash < limit && r.trains(x.ordinal) {
			mu.Lock()
			found = append(found, x.ordinal)
			mu.Unlock()
		}
		return true
	}, workers)
	slices.Sort(found)
	return found, err
}

// fittingKey is that of the hash by which Q is fitted to a part of the train rows.
func (j Job) fittingKey() string { return j.Roles.Key + "\x00fitting" }

// fittingLimit is the hash below which train rows are fitted to, if there are n of them and more than are
// fitted to.
func (t TrainDecl) fittingLimit(n int64) uint64 { return hashUnits(float64(t.fitted(n)) / float64(n)) }

// trains reports whether a row is a train row.
func (r Roles) trains(ordinal int64) bool {
	return !r.out.has(ordinal) && !r.holdout.has(ordinal) && !r.outside.has(ordinal) && len(r.referenceIn(ordinal, ordinal+1)) == 0
}
