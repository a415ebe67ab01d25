package certify

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
)

// formatBefore is read, and no longer written. Its certificates have bounds from below, which
// are passed over, and words that are replaced by those of this format: a reader sees no
// sentence that was not derived here.
const formatBefore = "pacsgp-certificate/2"

var lowerBounds = regexp.MustCompile(`(?s)\n      "lower_risk": \{.*?\n      \},|,\n      "lower_bound": [^\n]*`)

// parseBefore reads a certificate of the format before. Its numbers and statuses must be
// those that its evidence gives.
func parseBefore(data []byte) (Certificate, error) {
	c, err := parse(lowerBounds.ReplaceAll(data, nil), formatBefore)
	if err != nil {
		return c, err
	}
	ev, err := c.Evidence()
	if err != nil {
		return c, err
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

// wordless is a copy of the certificate without what differs between formats.
func (c Certificate) wordless() Certificate {
	c.Format, c.Baseline.Statement, c.Assumptions, c.Delta.Looks = "", "", nil, nil
	c.Guarantees = slices.Clone(c.Guarantees)
	for i := range c.Guarantees {
		g := &c.Guarantees[i]
		g.Method, g.Headline, g.Statement = "", "", ""
	}
	return c
}
