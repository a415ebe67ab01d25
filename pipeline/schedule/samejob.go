package schedule

import (
	"cmp"
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline"
)

// sameJobs returns the largest number among the records of runs. It refuses a run of another job
// than the list of numbers says: somebody has changed the list, or it was lost with the job.
func (j *Job) sameJobs(at pipeline.Sequence, identity string) (most int64, err error) {
	all, err := j.Output.Runs()
	if err != nil {
		return 0, err
	}
	for r := range all {
		of := r.Scheduled
		if of == nil || of.Job != j.Name || of.Sequence == 0 {
			continue
		}
		if r.Job != cmp.Or(at.Identity, identity) {
			return 0, fmt.Errorf("number %d of sequence %q was of another job than its list of numbers says (hint: restore the list, sequences.json of the output, or give the job another name and output)", of.Sequence, j.Name)
		}
		most = max(most, of.Sequence)
	}
	return most, nil
}
