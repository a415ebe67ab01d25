package pipeline

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// leastFitted is the smallest number of train rows that a job may fit Q to.
const leastFitted = 100

// checkFitting finds faults of a job that fits Q to a part of its train rows.
func (j Job) checkFitting(fault func(string, ...any)) {
	t := j.Train
	if t.Rows == 0 || t.Mode == TrainArrival {
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
	if t.Rows == 0 || t.Mode == TrainArrival {
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
	limit := hashUnits(float64(m) / float64(n))
	passedOver := func(x rank) bool {
		return r.holdout.has(x.ordinal) ||
			x.hash >= limit && !r.outside.has(x.ordinal) && len(r.referenceIn(x.ordinal, x.ordinal+1)) == 0
	}
	set, err := keptApart(ctx, job.Roles.Key+"\x00fitting", r.Rows, passedOver, r.out, res.Workers)
	r.holdout = set
	return r, err
}
