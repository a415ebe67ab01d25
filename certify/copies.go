package certify

import "fmt"

// fewCopies is the share of equal rows above which they are a doubt: the default limit of a job.
const fewCopies = 0.01

// A CopiesPolicy is the rule of a job for rows that equal an earlier one.
type CopiesPolicy string

// The policies.
const (
	CopiesLimited     CopiesPolicy = "limited"     // more copies than the limit end the job
	CopiesDropped     CopiesPolicy = "drop"        // later copies are neither trained nor certified on
	CopiesIndependent CopiesPolicy = "independent" // declared to be separate draws
)

// Copies counts rows that equal an earlier one: among all rows for the policy drop, else among
// reference and train rows.
type Copies struct {
	Policy   CopiesPolicy `json:"policy"`
	Limit    float64      `json:"limit"`    // share of the rows, for the policy limited
	Distinct int64        `json:"distinct"` // rows that equal no earlier one
	Rows     int64        `json:"rows"`     // rows that equal an earlier one in all used columns
	Features int64        `json:"features"` // rows that equal an earlier one in all features
	// AsTheyCome are the losses of the mean of Q, computed and not proven, on reference and train rows and
	// their copies. Nil unless copies were left out. It bounds nothing, and tells nothing of hold-out rows.
	AsTheyCome *Risk `json:"as_they_come,omitempty"`
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

// missed says what the mean of Q loses on rows as they come.
func (c Copies) missed(l Loss) string {
	lost := "loses at most " + AtMost(c.AsTheyCome.Upper) + " on average over"
	if l.Kind.Counts() {
		lost = "misses " + PercentUp(c.AsTheyCome.Upper) + " of"
	}
	return fmt.Sprintf("the mean of Q %s the %d reference and train rows as they come, with their copies, which bounds nothing", lost, c.AsTheyCome.Exact.Count())
}

// doubts are what a reader of bounds should know about copies. l is the loss of the job.
func (c Copies) doubts(l Loss) []string {
	switch few := c.Policy == CopiesLimited && !(float64(c.Rows) > fewCopies*float64(c.Rows+c.Distinct)); {
	case c.Rows == 0 || few:
		return nil
	case c.Policy != CopiesDropped:
		return []string{c.share() + ". That they are separate draws is its maker's word; if they are copies, the bounds are too low."}
	}
	seen := "Where hard rows repeat more often than others, more rows are missed as they come."
	if c.AsTheyCome != nil {
		seen = "As for rows as they come, " + c.missed(l) + "."
	}
	return []string{c.share() + " and were left out: the bounds are about distinct rows. " + seen + " That they are copies is its maker's word; if they are separate draws, the bounds may be too low."}
}

// loss is the loss of the job.
func (c Certificate) loss() Loss {
	g, _ := c.Guarantee(GuaranteeDraw)
	return g.Loss.Loss
}

// words are the part of a statement about copies that were left out; "" if there are none. l is the loss
// of the job.
func (c Copies) words(l Loss) string {
	if !c.leftOut() || c.AsTheyCome == nil {
		return ""
	}
	return ". It is about distinct rows: " + c.share() + " and were left out; " + c.missed(l)
}

// validate checks the losses on rows as they come. before says that the document is of the format
// before, which has none.
func (c Copies) validate(l Ledger) error {
	if a := c.AsTheyCome; a == nil || !c.leftOut() {
		if (a == nil) == c.leftOut() {
			return fmt.Errorf("losses on rows as they come: %t, of %d copies under the policy %q", a != nil, c.Rows, c.Policy)
		}
		return nil
	}
	n, open := c.AsTheyCome.Exact.Count(), l.Reference+l.Train
	if n < open || n > open+c.Rows || l.Holdout+l.Outside == 0 && n != open+c.Rows {
		return fmt.Errorf("losses on %d rows as they come, of %d reference and train rows and %d copies", n, open, c.Rows)
	}
	return c.AsTheyCome.Exact.validate()
}
