package schedule

import (
	"context"
	"fmt"
	"maps"

	"github.com/pacsgp/pacsgp/pipeline"
)

// number gives a run its number in the sequence, before any bound is known. A number is for one
// certificate.
func (s *Scheduler) number(ctx context.Context, j *Job, at *pipeline.Sequence, run *pipeline.Scheduled, of *lot) error {
	identity, err := j.Job.Digest()
	if err != nil {
		return err
	}
	certified, most, err := j.certified(ctx)
	if err != nil {
		return err
	}
	last, err := j.sameJobs(*at, identity.String())
	if err != nil {
		return err
	}
	if number, same := at.Numbers[of.number]; same { // of a killed or failed run
		run.Sequence, of.certified = number, certified[number]
		return nil
	}
	most = max(most, last)
	if at.Taken > 0 && most > at.Taken {
		return fmt.Errorf("a run or a certificate of the output has number %d of sequence %q, and its list of numbers ends at %d: the list is older (hint: restore the newest one, or give the job another name and output)", most, j.Name, at.Taken)
	}
	at.Identity, at.Numbers = identity.String(), maps.Clone(at.Numbers)
	if at.Numbers == nil {
		at.Numbers = map[string]int64{}
	}
	at.Taken = max(most, at.Taken) + 1
	at.Numbers[of.number] = at.Taken
	if run.Window != nil {
		at.Topic = at.Topic.With(*run.Window)
	}
	if err := j.Output.PutSequence(j.Name, *at); err != nil {
		return err // no record may name a number that the output does not know
	}
	run.Sequence = at.Taken
	return nil
}

// certified are the ids of the certificates by their numbers, and the largest number.
func (j *Job) certified(ctx context.Context) (ids map[int64]string, most int64, err error) {
	ids, err = j.Output.Numbered(ctx, j.Name)
	for k := range ids {
		most = max(most, k)
	}
	return ids, most, err
}

// order are the files of the last run with a number, in their order. Without them a row of the
// next sample could get another ordinal, and so another role: a certified number without the
// record of its run is an error.
func (j *Job) order(ctx context.Context, at pipeline.Sequence) ([]pipeline.ManifestFile, error) {
	last, err := j.last(numbered)
	if err != nil {
		return nil, err
	}
	var files []pipeline.ManifestFile
	told := int64(0)
	if last != nil {
		files, told = last.Scheduled.Files, last.Scheduled.Sequence
	}
	if 0 < at.Taken && at.Taken <= told {
		return files, nil
	}
	_, certified, err := j.certified(ctx)
	if err != nil {
		return nil, err
	}
	begun := map[int64]bool{} // also by runs that were killed before their records
	for _, k := range at.Numbers {
		begun[k] = true
	}
	for k := max(at.Taken, certified); k > told; k-- {
		if k <= certified || !begun[k] {
			return nil, fmt.Errorf("the record of the run that has taken number %d of the sequence is not in the output, or cannot be read (hint: restore it from a copy, or give the job another name and output)", k)
		}
	}
	return files, nil
}
