package pipeline

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// Numbered returns the job as the one that makes certificate number k of its sequence,
// which is called by a name. The number is to be taken durably before the rows' bound is
// known, and never twice: see [certify.Sequence]. The job's declaration, and so its
// digest, stays the same.
func (j Job) Numbered(name string, k int64) Job {
	return j.in(&certify.Sequence{Name: name, Number: k})
}

// Sequence is the job's place in a sequence, nil if it has none.
func (j Job) Sequence() *certify.Sequence { return j.sequence }

// in places the job in a sequence; nil: in none. The policy is the job's own, whatever
// somebody says of it.
func (j Job) in(s *certify.Sequence) Job {
	j.sequence = nil
	if s != nil {
		j.sequence = &certify.Sequence{Policy: j.DeltaPolicy, Name: s.Name, Number: s.Number, Horizon: j.Horizon}
	}
	return j
}

// placed demands a place in a sequence of a job that declares one, and of no other.
func (j Job) placed() error {
	switch {
	case j.DeltaPolicy == "" && j.sequence != nil:
		return fmt.Errorf("%w: number %d of a sequence, but the job declares no delta_policy", ErrConfig, j.sequence.Number)
	case j.DeltaPolicy != "" && j.sequence == nil:
		return fmt.Errorf("%w: delta_policy %s: the job has no number in a sequence", ErrConfig, j.DeltaPolicy)
	case j.Horizon > 0 && j.sequence == nil:
		return fmt.Errorf("%w: horizon: it is of a job that makes one certificate after another", ErrConfig)
	case j.Horizon > 0 && j.sequence.Number > j.Horizon:
		return j.Spent()
	default:
		return nil
	}
}

// Spent is the error of a sequence whose horizon is passed.
func (j Job) Spent() error {
	return fmt.Errorf("%w: horizon: all %d certificates of the sequence are made (hint: give the job another name and output, and with them another delta)", ErrConfig, j.Horizon)
}

// checkPolicy reports an unknown policy; "" is that of a job by itself.
func (j Job) checkPolicy() error {
	if j.Horizon < 0 || j.Horizon > certify.MaxNumber || j.Horizon > 0 && j.DeltaPolicy == certify.DeltaEach {
		return fmt.Errorf("horizon: %d under delta_policy %q: want the largest number of certificates, under %s", j.Horizon, j.DeltaPolicy, certify.DeltaSequence)
	}
	switch j.DeltaPolicy {
	case "", certify.DeltaSequence, certify.DeltaEach:
		return nil
	}
	return fmt.Errorf("delta_policy: %q is neither %s nor %s", j.DeltaPolicy, certify.DeltaSequence, certify.DeltaEach)
}
