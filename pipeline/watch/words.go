package watch

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Report is the result of a test.
type Report struct {
	Statement string  // in words
	Bound     float64 // on the expected loss of a row, on average over those so far; 1 without rows
	Alarm     string  // why the alarm was raised; "" if it was not
}

// Words are the alarm, if there is one, and the statement.
func (r Report) Words() string {
	if r.Alarm == "" {
		return r.Statement
	}
	return "alarm: " + r.Alarm + ". " + r.Statement
}

// Report is the result so far of the test of a certificate.
func (t *Test) Report(c certify.Certificate) (r Report, err error) {
	r.Bound = 1
	if t.Losses.Count() == 0 {
		r.Statement = "no labelled row has come yet: nothing is said"
	} else if r.Statement, r.Bound, err = c.NextWords(t.Losses); err != nil {
		return r, err
	}
	for _, n := range []struct {
		rows  int64
		which string
	}{
		{t.Unlabelled, "without a label that is a good number"}, {t.Bad, "that break the row rules"}, {t.Known, "that are no news to it"},
	} {
		if n.rows > 0 {
			r.Statement += fmt.Sprintf("; nothing is said of %s %s", certify.Count(n.rows, "row"), n.which)
		}
	}
	if a := t.Alarm; a.Raised > 0 {
		r.Alarm = fmt.Sprintf("the "+string(pipeline.JudgeMean.Of(c).Status)+" bound of %s does not hold for these rows: that was clear at row %d. If it held at every row, this alarm would be raised with a probability of at most %g", certify.PercentUp(a.Bound), a.Raised, a.Delta)
	} else if c.Roles.ByContent {
		r.Statement += "; what is certified is about rows of one role, so that there is no bound on rows as they come to raise an alarm above"
	} else if c.Ledger.Units != nil {
		r.Statement += "; what is certified is about whole units, so that there is no bound on rows to raise an alarm above"
	} else if a.Bound == 1 {
		r.Statement += "; nothing is certified about these predictions, so that there is no bound to raise an alarm above"
	}
	return r, nil
}
