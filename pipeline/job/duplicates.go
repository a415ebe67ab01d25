package job

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// The policies for duplicates: rows that equal an earlier row in every used column.
const (
	DuplicatesDropped = certify.DuplicatesDropped // the first of equal rows counts and the others are in the subset duplicate; the default
	DuplicatesKept    = certify.DuplicatesKept    // equal rows are separate draws; the default with units and outside rows
	DuplicatesLimited = certify.DuplicatesLimited // equal rows are separate draws, and the job stops if they are more than a share of the rows
)

// A DuplicatesDecl declares what equal rows mean.
type DuplicatesDecl struct {
	Policy certify.DuplicatesPolicy `json:"policy"`
	Limit  float64                  `json:"limit"` // the largest share of rows that may be duplicates, for DuplicatesLimited only
}

// setDuplicates fills in the default policy and adds faults of the declaration.
func (j *Job) setDuplicates(faults *faultList) {
	d := &j.Duplicates
	if d.Policy == "" {
		d.Policy = DuplicatesDropped
		if j.Unit.Given() || j.Split.Outside > 0 {
			d.Policy = DuplicatesKept
		}
	}
	switch {
	case !(0 <= d.Limit && d.Limit <= 1):
		faults.add("duplicates: %v is no share of the rows between 0 and 1", d.Limit)
	case d.Policy != DuplicatesDropped && d.Policy != DuplicatesKept && d.Policy != DuplicatesLimited:
		faults.add("duplicates: %q is none of %s, %s and %s", d.Policy, DuplicatesDropped, DuplicatesKept, DuplicatesLimited)
	case d.Policy != DuplicatesLimited && d.Limit != 0:
		faults.add("duplicates: %s has no limit", d.Policy)
	case d.Policy == DuplicatesDropped && j.Split.Outside > 0:
		faults.add("duplicates: %s does not go with split.outside: the model of the column may have seen a copy of a row that certifies", DuplicatesDropped)
	}
}

// Drops reports whether all rows must be read before each pass, to find the duplicates that the job drops. Without
// known duplicates or tolerated rejected rows the pass counts duplicates itself.
func (j Job) Drops() bool {
	return j.Duplicates.Policy == DuplicatesDropped && (j.Repeats || j.Rejected.Some())
}

// Duplicates counts rows and distinct rows. -0 equals 0.
type Duplicates struct {
	Rows     int64 `json:"rows"`
	Distinct int64 `json:"distinct"` // rows without those that equal an earlier one
}

// OfRows returns the number of rows that equal an earlier one.
func (c Duplicates) OfRows() int64 { return c.Rows - c.Distinct }

// Allow returns an error if more duplicates were found among rows than the job allows. The error does not state the
// number, because held-out rows are among the duplicates.
func (d DuplicatesDecl) Allow(found, rows int64) error {
	if d.Policy != DuplicatesLimited || !(float64(found) > d.Limit*float64(rows)) {
		return nil
	}
	return fmt.Errorf("%w: more than %s of the rows equal an earlier row in every used column, the limit of duplicates\n"+
		"hint: duplicates: drop, if a join or a repeated delivery made them; duplicates: keep, if they are separate draws", ErrData, percent(d.Limit))
}

// Warning returns a warning if more than 1 % of the rows are duplicates, and "" otherwise or if the policy has a limit.
func (d DuplicatesDecl) Warning(c Duplicates) string {
	share := float64(c.OfRows()) / float64(c.Rows)
	if d.Policy == DuplicatesLimited || !(share > 0.01) {
		return ""
	}
	text := percent(share) + " of the rows repeat an earlier row in every used column, and "
	if d.Policy == DuplicatesDropped {
		return text + "were dropped: the bounds are about distinct rows; if equal rows are separate draws, set duplicates: keep"
	}
	return text + "count as separate draws, as the job declares: if they are duplicates, the bounds are too low"
}
