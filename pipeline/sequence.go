package pipeline

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// Numbered returns the job for certificate number k of the named sequence. The caller takes
// the number durably before the bound is known, and never twice: see [certify.Sequence]. The
// job's declaration, and so its digest, stays the same.
func (j Job) Numbered(name string, k int64) Job {
	return j.in(&certify.Sequence{Name: name, Number: k})
}

// Sequence is the job's place in a sequence, nil if it has none.
func (j Job) Sequence() *certify.Sequence { return j.sequence }

// in places the job in a sequence; nil: in none. Policy and horizon are the job's own,
// whatever s says.
func (j Job) in(s *certify.Sequence) Job {
	j.sequence = nil
	if s != nil {
		j.sequence = &certify.Sequence{Policy: j.DeltaPolicy, Name: s.Name, Number: s.Number, Horizon: j.Horizon}
	}
	return j
}

// placed demands a place in a sequence if the job declares a policy of delta, and none else.
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

// Spent is the error of a sequence beyond its horizon.
func (j Job) Spent() error {
	return fmt.Errorf("%w: horizon: all %d certificates of the sequence have been made (hint: give the job another name and output, and with them another delta)", ErrConfig, j.Horizon)
}

// checkPolicy reports faults of policy and horizon. "" is the policy of a single certificate.
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
