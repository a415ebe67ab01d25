package schedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// Amend gives the sequence of a job its present declaration from the next number on. It returns
// that number, 0 if there is nothing to change. The job's looks at hold-out rows pay for those of
// the numbers before (docs/proofs.md, 14). The one step is durable; then the record that says that the
// job cannot run is closed.
func (j *Job) Amend(ctx context.Context, now time.Time) (from int64, err error) {
	if err := j.complete(); err != nil {
		return 0, err
	}
	identity, err := j.Job.Identity()
	if err != nil {
		return 0, err
	}
	return holding(j.Output, func() (int64, error) {
		at, err := j.Output.Sequence(j.Name)
		if err != nil {
			return 0, err
		}
		last, err := j.last(numbered)
		if err != nil {
			return 0, err
		}
		certified, most, err := j.certified(ctx)
		if err != nil {
			return 0, err
		}
		if last != nil {
			at.Identity = cmp.Or(at.Identity, last.Job)
		}
		recorded, err := j.sameJobs(at, "")
		if err != nil {
			return 0, err
		}
		at.Taken = max(at.Taken, most, recorded)
		if at.Taken == 0 || at.Identity == identity.String() {
			return 0, nil
		}
		if at.Identity == "" {
			return 0, fmt.Errorf("%s: which job its certificates are of is not in the output (hint: restore it from a copy, or give the job another name and output)", j.Name)
		}
		if err := j.comparable(ctx, at, certified); err != nil {
			return 0, err
		}
		shown, err := j.shown(certified)
		if err != nil {
			return 0, err
		}
		if n := len(at.Former); n == 0 || at.Former[n-1].Last < at.Taken {
			at.Former = append(slices.Clone(at.Former), pipeline.FormerJob{Identity: at.Identity, Last: at.Taken})
		}
		spent := map[string]int64{} // no run of the job may have them
		for key, k := range at.Numbers {
			if shown[k] {
				continue // it has not ended without a certificate
			}
			spent[fmt.Sprintf("%s until %d", key, at.Taken)] = k
		}
		at.Numbers = spent
		at.Identity = identity.String()
		if err := j.Output.PutSequence(j.Name, at); err != nil {
			return 0, err
		}
		return at.Taken + 1, j.endNote(now)
	})
}

// shown are the numbers with a certificate, there or by the record of a run.
func (j *Job) shown(certified map[int64]string) (map[int64]bool, error) {
	all, err := j.Output.Runs()
	if err != nil {
		return nil, err
	}
	shown := map[int64]bool{}
	for k := range certified {
		shown[k] = true
	}
	for r := range all {
		if of := r.Scheduled; of != nil && of.Job == j.Name && Certificate(r) != "" {
			shown[of.Sequence] = true
		}
	}
	return shown, nil
}

// comparable refuses a job whose numbers would not share delta with those of the certificates as
// docs/proofs.md has it, and one with another target: rows that were looked at are known again by
// their targets.
func (j *Job) comparable(ctx context.Context, at pipeline.Sequence, certified map[int64]string) error {
	if j.Job.Horizon > 0 {
		return fmt.Errorf("%w: jobs: %s has a horizon: give the changed job another name and output", pipeline.ErrConfig, j.Name)
	}
	for k, id := range certified {
		c, err := j.Output.GetCertificate(ctx, id)
		if err != nil {
			return err
		}
		if c.Delta.Declared != j.Job.Delta || c.Delta.Sequence.Horizon != 0 {
			return fmt.Errorf("%w: jobs: %s: number %d of its sequence has the delta %v and the horizon %d, and the job has %v and none: an amended job keeps them, or has another name and output",
				pipeline.ErrConfig, j.Name, k, c.Delta.Declared, c.Delta.Sequence.Horizon, j.Job.Delta)
		}
		if target := c.Sample.Columns[len(c.Sample.Columns)-1]; target != j.Job.Target || !slices.Equal(c.Delta.Methods, j.Job.ForRows(c.Sample.Rows).Guarantees) {
			return fmt.Errorf("%w: jobs: %s: number %d of its sequence has the target %q and the guarantees %v, and the job has %q and %v: an amended job keeps them, or has another name and output",
				pipeline.ErrConfig, j.Name, k, target, c.Delta.Methods, j.Job.Target, j.Job.ForRows(c.Sample.Rows).Guarantees)
		}
	}
	if at.Shares != "" && at.Shares != j.Job.Shares() { // numbers without a certificate
		return fmt.Errorf("%w: jobs: %s has another delta, target or guarantees than its numbers so far: an amended job keeps them, or has another name and output", pipeline.ErrConfig, j.Name)
	}
	return nil
}

// sameJobs returns the largest number among the records of runs. It refuses a run of another job
// than the list of numbers says: somebody has changed the list, or it was lost with the job.
func (j *Job) sameJobs(at pipeline.Sequence, identity string) (most int64, err error) {
	at.Identity = cmp.Or(at.Identity, identity)
	all, err := j.Output.Runs()
	if err != nil {
		return 0, err
	}
	for r := range all {
		of := r.Scheduled
		if of == nil || of.Job != j.Name || of.Sequence == 0 {
			continue
		}
		if r.Job != at.At(of.Sequence) {
			return 0, otherList(of.Sequence, j.Name)
		}
		most = max(most, of.Sequence)
	}
	return most, nil
}

// sameAmendments refuses a list of numbers that does not know of the amendments of the newest
// certificate, number k: it was lost, or changed by hand. Records of runs may be gone.
func (j *Job) sameAmendments(ctx context.Context, at pipeline.Sequence, id string, k int64) error {
	if k == 0 {
		return nil
	}
	c, err := j.Output.GetCertificate(ctx, id)
	if err != nil {
		return err
	}
	if q := c.Delta.Sequence; q != nil && max(1, q.Amended) != at.From(k) {
		return otherList(k, j.Name)
	}
	return nil
}

func otherList(number int64, name string) error {
	return fmt.Errorf("number %d of sequence %q was of another job than its list of numbers says (hint: restore the list, sequences.json of the output, or give the job another name and output)", number, name)
}
