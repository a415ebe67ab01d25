package pipeline

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// Numbered returns the job for certificate number k of the named sequence. The caller takes
// the number durably before the bound is known, and never twice: see [certify.Sequence]. The
// job's declaration, and so its digest, stays the same.
func (j Job) Numbered(name string, k int64) Job {
	j.sequence = &certify.Sequence{Name: name, Number: k}
	return j
}

// Sequence is the job's place in a sequence, nil if it has none.
func (j Job) Sequence() *certify.Sequence { return j.sequence }

// in places the job in a sequence; nil: in none.
func (j Job) in(s *certify.Sequence) Job {
	j.sequence = s
	return j
}

// placed demands a place in a sequence if the job makes one certificate after another, and none else.
func (j Job) placed() error {
	switch {
	case !j.Repeated && j.sequence != nil:
		return fmt.Errorf("%w: number %d of a sequence, but the job declares none", ErrConfig, j.sequence.Number)
	case j.Repeated && j.sequence == nil:
		return fmt.Errorf("%w: the job has no number in its sequence", ErrConfig)
	default:
		return nil
	}
}
