package pipeline

import (
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// formerJobs are the jobs that a sequence had before an amendment.
type formerJobs struct {
	last      int64            // number of theirs
	families  []Digest         // of their looks
	certified map[int64]string // ids of certificates of the sequence, by number
}

// Amended returns a numbered job as one that its sequence has after others. certified are the
// certificates of the sequence, by number. A look of the job pays for looks of the others.
func (j Job) Amended(former []FormerJob, certified map[int64]string) (Job, error) {
	of, at := formerJobs{certified: certified}, *j.sequence
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

// charge adds to the price of a look what an amendment owes to numbers without a look in the log:
// that they have no certificate is one more answer (docs/proofs.md, 14). If one has a certificate,
// its look was in another log, or it had no hold-out rows: then looks are not counted.
func (f formerJobs) charge(paid *certify.Looks, earlier []Look) *certify.Looks {
	shown := map[int64]bool{}
	for _, o := range earlier {
		if o.Slot.Number <= f.last && slices.Contains(f.families, o.Family) {
			shown[o.Slot.Number] = true
		}
	}
	for k := range f.certified {
		if k <= f.last && !shown[k] {
			return &certify.Looks{Uncounted: true}
		}
	}
	silent := min(f.last-int64(len(shown)), certify.MaxLooks)
	if silent <= 0 {
		return paid
	}
	if paid == nil {
		paid = &certify.Looks{}
	}
	for range silent {
		paid.Earlier = append(paid.Earlier, f.last)
	}
	return paid
}
