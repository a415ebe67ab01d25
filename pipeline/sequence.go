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
	return j.in(&certify.Sequence{Policy: j.DeltaPolicy, Name: name, Number: k})
}

// Sequence is the job's place in a sequence, nil if it has none.
func (j Job) Sequence() *certify.Sequence { return j.sequence }

// in places the job in a sequence; nil: in none. The policy is the job's own, whatever
// somebody says of it.
func (j Job) in(s *certify.Sequence) Job {
	j.sequence = nil
	if s != nil {
		j.sequence = &certify.Sequence{Policy: j.DeltaPolicy, Name: s.Name, Number: s.Number}
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
	default:
		return nil
	}
}

// checkPolicy reports an unknown policy; "" is that of a job by itself.
func (j Job) checkPolicy() error {
	switch j.DeltaPolicy {
	case "", certify.DeltaSequence, certify.DeltaEach:
		return nil
	}
	return fmt.Errorf("delta_policy: %q is neither %s nor %s", j.DeltaPolicy, certify.DeltaSequence, certify.DeltaEach)
}
