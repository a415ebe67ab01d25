package certify

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// formatBefore is read and no longer written. Its bounds from below are ignored, and its sentences
// are replaced by those of this format.
const formatBefore = "pacsgp-certificate/2"

// lowerBounds matches the bounds from below in the document's canonical bytes.
var lowerBounds = regexp.MustCompile(`\n      "lower_risk": \{\n        "exact": \{\n          "count": \d+,\n          "sum": "[0-9a-f]{32}"\n        \},\n        "lower": [-+.e\d]+\n      \},|,\n      "lower_bound": [-+.e\d]+`)

// parseBefore reads a certificate of the format before. Its numbers and statuses must follow from
// its evidence.
func parseBefore(data []byte) (Certificate, error) {
	c, err := parse(lowerBounds.ReplaceAll(data, nil), formatBefore)
	if err != nil {
		return c, err
	}
	ev, err := c.Evidence()
	if err != nil {
		return c, err
	}
	if ev.Delta.Looks != nil || ev.Mean != nil || ev.Ledger.Units != nil {
		return c, errors.New("it counts looks or units, or has a column for the mean, which its format does not have")
	}
	if ev.Delta.Uses(RoleHoldout) {
		ev.Delta.Looks = &Looks{before: true}
	}
	for i := range ev.Assumptions {
		ev.Assumptions[i].Text = ""
	}
	again, err := Certify(ev)
	if err != nil {
		return c, err
	}
	got, err := encode(c.wordless())
	if err != nil {
		return c, err
	}
	want, err := encode(again.wordless())
	if err != nil {
		return c, err
	}
	if !bytes.Equal(got, want) {
		return c, fmt.Errorf("the certificate contradicts itself: %s", Difference(got, want))
	}
	again.document = bytes.Clone(data)
	return again, nil
}

// PassedOver names the parts of a document of the format before that are not checked; "" for this
// format.
func (c Certificate) PassedOver() string {
	if c.document == nil {
		return ""
	}
	return "that the sentences, the bounds from below and the correlation of targets that stand in the document, of the format " + formatBefore + ", are true: those sentences that are printed here were derived again"
}

// Shown is the certificate with what its rows have shown. The format before states no findings, and a
// correlation that nothing checks: its doubts are those of the rows.
func (c Certificate) Shown(d Dependence, f *Findings) Certificate {
	if c.document != nil {
		c.Dependence, c.Findings = d, f
	}
	return c
}

// unseen reports whether nothing is known of what the rows show.
func (c Certificate) unseen() bool { return c.document != nil && c.Dependence.Measured == Measured{} }

// wordless is a copy of the certificate without the differences between formats.
func (c Certificate) wordless() Certificate {
	c.Format, c.Baseline.Statement, c.Assumptions, c.Delta.Looks = "", "", nil, nil
	c.Guarantees = slices.Clone(c.Guarantees)
	for i := range c.Guarantees {
		g := &c.Guarantees[i]
		g.Method, g.Headline, g.Statement = "", "", ""
	}
	return c
}
