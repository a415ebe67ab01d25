package certify

import "fmt"

// fewCopies is the share of equal rows above which they are a doubt.
const fewCopies = 0.01

// A CopiesPolicy is the rule of a job for rows that equal an earlier one.
type CopiesPolicy string

// The policies.
const (
	CopiesDropped CopiesPolicy = "drop"  // the first of equal rows counts, the others neither train nor certify
	CopiesKept    CopiesPolicy = "keep"  // they are separate draws
	CopiesLimited CopiesPolicy = "limit" // so are they, and more than the limit end the job
)

// Copies counts rows that equal an earlier one.
type Copies struct {
	Policy   CopiesPolicy `json:"policy"`
	Limit    float64      `json:"limit"`    // share of the rows, for the policy limit
	Distinct int64        `json:"distinct"` // rows that equal no earlier one
	Rows     int64        `json:"rows"`     // rows that equal an earlier one in all used columns
}

// leftOut reports whether copies were left out, so that guarantees are about distinct rows.
func (c Copies) leftOut() bool { return c.Policy == CopiesDropped && c.Rows > 0 }

// distinct is the word for the fresh rows of a guarantee, with a space behind it; "" unless copies were
// left out.
func (c Copies) distinct() string {
	if c.leftOut() {
		return "distinct "
	}
	return ""
}

// share counts the copies.
func (c Copies) share() string {
	return fmt.Sprintf("%d of %d rows equal an earlier row", c.Rows, c.Rows+c.Distinct)
}

// doubts are what a reader of bounds should know about copies.
func (c Copies) doubts() []string {
	switch {
	case !(float64(c.Rows) > fewCopies*float64(c.Rows+c.Distinct)):
		return nil
	case c.Policy == CopiesDropped:
		return []string{c.share() + " and were left out: the bounds are about distinct rows. If they are separate draws, the bounds may be too low."}
	}
	return []string{c.share() + ". That they are separate draws is its maker's word; if they are copies, the bounds are too low."}
}

// words are the part of a statement about copies that were left out; "" if there are none.
func (c Copies) words() string {
	if !c.leftOut() {
		return ""
	}
	return ". It is about distinct rows: " + c.share() + " and were left out"
}
