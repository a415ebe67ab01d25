package job

import (
	"fmt"
	"strconv"

	"github.com/pacsgp/pacsgp/certify"
)

// The policies for copies: rows that equal an earlier row in every used column.
const (
	CopiesDropped = certify.CopiesDropped // the first of equal rows counts, the others are in the subset duplicate: the default
	CopiesKept    = certify.CopiesKept    // equal rows are separate draws: the default with units and outside rows
	CopiesLimited = certify.CopiesLimited // so are they, and more than a share of the rows stop the job
)

// A CopiesDecl declares what equal rows mean.
type CopiesDecl struct {
	Policy certify.CopiesPolicy `json:"policy"`
	Limit  float64              `json:"limit"` // of policy limit: the largest share of rows that may be copies
}

// setCopies fills in the default and finds faults.
func (j *Job) setCopies(fault func(string, ...any)) {
	d := &j.Copies
	if d.Policy == "" {
		d.Policy = CopiesDropped
		if j.Unit.Given() || j.Split.Outside > 0 {
			d.Policy = CopiesKept
		}
	}
	switch {
	case !(0 <= d.Limit && d.Limit <= 1):
		fault("duplicates: %v is no share of the rows between 0 and 1", d.Limit)
	case d.Policy != CopiesDropped && d.Policy != CopiesKept && d.Policy != CopiesLimited:
		fault("duplicates: %q is none of %s, %s and %s", d.Policy, CopiesDropped, CopiesKept, CopiesLimited)
	case d.Policy != CopiesLimited && d.Limit != 0:
		fault("duplicates: %s has no limit", d.Policy)
	case d.Policy == CopiesDropped && j.Split.Outside > 0:
		fault("duplicates: %s does not go with split.outside: the model of the column may have seen a copy of a row that certifies", CopiesDropped)
	}
}

// Drops reports whether a reading of all rows before each pass finds the copies to leave out. Where
// none has been found yet, the pass counts them itself.
func (j Job) Drops() bool { return j.Copies.Policy == CopiesDropped && (j.Repeats || j.BadRows.Some()) }

// Copies counts equal rows of a sample. -0 equals 0.
type Copies struct {
	Rows     int64 `json:"rows"`
	Distinct int64 `json:"distinct"` // different rows
}

// OfRows is the number of rows that equal an earlier one.
func (c Copies) OfRows() int64 { return c.Rows - c.Distinct }

// Allow returns an error if there are more copies among so many rows than the job allows. It does not tell how many, for
// held-out rows are among them.
func (d CopiesDecl) Allow(found, rows int64) error {
	if d.Policy != CopiesLimited || !(float64(found) > d.Limit*float64(rows)) {
		return nil
	}
	return fmt.Errorf("%w: more than %s of the rows equal an earlier row in every used column, the limit of duplicates\n"+
		"hint: duplicates: drop, if a join or a repeated delivery made them; duplicates: keep, if they are separate draws", ErrData, percent(d.Limit))
}

// Counted is a certificate's statement about copies.
func (j Job) Counted(c Copies) certify.Copies {
	return certify.Copies{Policy: j.Copies.Policy, Limit: j.Copies.Limit, Rows: c.OfRows()}
}

// Warning warns of more than a few copies; "" if there is nothing to say.
func (d CopiesDecl) Warning(c Copies) string {
	share := float64(c.OfRows()) / float64(c.Rows)
	if d.Policy == CopiesLimited || !(share > 0.01) {
		return ""
	}
	text := percent(share) + " of the rows repeat an earlier row in every used column, and "
	if d.Policy == CopiesDropped {
		return text + "were dropped: the bounds are about distinct rows; if equal rows are separate draws, set duplicates: keep"
	}
	return text + "count as separate draws, as the job declares: if they are copies, the bounds are too low"
}

// percent writes a share with three significant digits.
func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}
