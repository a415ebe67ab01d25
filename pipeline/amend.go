package pipeline

import (
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// formerJobs are the jobs that a sequence had before an amendment.
type formerJobs struct {
	last     int64          // number of theirs
	families []Digest       // of their looks
	silent   map[int64]bool // numbers that ended without a certificate
}

// Amended returns a numbered job as one that its sequence has after others. silent are the numbers of
// the sequence that are known to have ended without a certificate.
func (j Job) Amended(former []FormerJob, silent map[int64]bool) (Job, error) {
	of, at := formerJobs{silent: silent}, *j.sequence
	for _, f := range former {
		var identity Digest
		if err := identity.Parse(f.Identity); err != nil {
			return j, err
		}
		of.families = append(of.families, family(identity, at.Name, at.Amended))
		of.last, at.Amended = f.Last, f.Last+1
	}
	j.sequence, j.former = &at, of
	return j, nil
}

// charge adds to the price of a look what amendments owe (docs/proofs.md, 14): each change of the job
// costs a factor of 2, and that number k before has no certificate (k+1)². A number that has
// no look in the log, and is not known to be silent, had it in another log, or held no row out: then
// looks are not counted. Looks without a price stay without one.
func (f formerJobs) charge(paid *certify.Looks, earlier []Look) (*certify.Looks, error) {
	if f.last == 0 || paid != nil && (paid.Swapped || paid.Ended) {
		return paid, nil
	}
	shown := map[int64]bool{}
	for _, o := range earlier {
		if o.Slot.Number <= f.last && slices.Contains(f.families, o.Family) {
			shown[o.Slot.Number] = true
		}
	}
	all := &certify.Looks{}
	if paid != nil {
		all.Earlier = slices.Clone(paid.Earlier)
	}
	for k := int64(1); k <= f.last; k++ {
		switch {
		case shown[k]:
			continue
		case !f.silent[k]:
			return &certify.Looks{Uncounted: true}, nil
		}
		all.Earlier = append(all.Earlier, k*(k+2)) // a look at n rows costs n+1
		if len(all.Earlier) >= certify.MaxLooks-1 {
			break
		}
	}
	for range f.families {
		all.Earlier = append(all.Earlier, 1)
	}
	if len(all.Earlier) >= certify.MaxLooks {
		return nil, fmt.Errorf("%w: an amended job that comes after %d looks and failures has nothing left to promise: give it another name and output", ErrConfig, len(all.Earlier)-len(f.families))
	}
	return all, nil
}
