package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Begun run has made its first pass, and is recorded as an attempt.
type Begun struct {
	Src       dataset.Source
	FirstPass *pass.FirstPass
	Attempt   certify.Attempt
	At        time.Time
}

// Begin makes the first pass of a job, and records the attempt before there is any result. All faults
// of job and environment are one error, before anything is read.
func Begin(ctx context.Context, j job.Job, env Environment) (b Begun, err error) {
	b.At = time.Now()
	if err := errors.Join(j.Complete(), j.Sequenced(), env.Needs("Open", "Sink", "Log", "Checkpoints", "Software")); err != nil {
		return b, err
	}
	env.Observer.ReportProgress(job.Progress{Phase: job.PhaseFirstPass})
	if b.Src, err = env.Open(ctx, nil); err != nil {
		return b, err
	}
	b.FirstPass, err = pass.First(ctx, b.Src, j, env.Resources, env.FirstPass)
	if err == nil && env.FirstPass != nil && !j.FiltersRows() && !b.FirstPass.Repeats {
		err = leftOut(ctx, b.FirstPass, env)
	}
	if b.FirstPass != nil {
		err = errors.Join(err, b.FirstPass.PutAway(ctx, b.Src, env.Rejects, env.Resources))
	}
	if err != nil {
		return b, err
	}
	for _, text := range b.FirstPass.Warnings {
		env.Observer.ReportWarning(text)
	}
	log, err := env.Log.Log()
	if err != nil {
		return b, err
	}
	if j.Split.Holdout > 0 && slices.ContainsFunc(log.Uses, func(o Use) bool { return o.Curve && o.Rows == b.FirstPass.Held.Digest() }) {
		env.Observer.ReportWarning("an earlier run into this output has shown a curve of these held-out rows: nothing can be certified from them about another model (hint: add rows, or use guarantees: [pac-bayes])")
	}
	configuration, err := j.Digest()
	if err != nil {
		return b, err
	}
	if b.Attempt, err = (Attempt{Targets: b.FirstPass.Targets, Sample: b.FirstPass.Digest, Configuration: configuration}).record(env.Log); err != nil {
		return b, err
	}
	env.Observer.ReportEvent(fmt.Sprintf("attempt %d on these rows, %d in this output", b.Attempt.OnTheseRows, b.Attempt.InThisLog))
	return b, nil
}

// leftOut returns an error unless the columns that a first pass in parts leaves out, for their one value on
// the prior rows, have these values there. The prior may not depend on other rows, and the features are
// a part of it. It reads no other column but the target, and only shards with prior rows.
func leftOut(ctx context.Context, s *pass.FirstPass, env Environment) error {
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
		if len(shard.Among(s.Split.PriorRows)) > 0 {
			order = append(order, i)
		}
	}
	next := 0 // prior row
	err = dataset.Stream(ctx, src, order, env.Resources.Workers, func(b dataset.Block) error {
		for _, ordinal := range (dataset.Shard{First: b.First, Rows: int64(b.Rows)}).Among(s.Split.PriorRows) {
			for i, c := range at {
				if v, before := b.Columns[i][ordinal-b.First], s.Reference.Row(next)[c]; math.Float64bits(v) != math.Float64bits(before) {
					return fmt.Errorf("%w: column %q is %v in row %d, a prior row, and the first pass had %v", job.ErrChanged, names[i], v, ordinal, before)
				}
			}
			next++
		}
		return nil
	})
	if err == nil && next != s.Reference.N {
		err = fmt.Errorf("%w: there are %d of %d prior rows", job.ErrChanged, next, s.Reference.N)
	}
	return err
}
