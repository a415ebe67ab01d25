package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// A verified certificate does not contradict its model nor, where they were read
// again, its rows.
type verified struct {
	Certificate certify.Certificate
	ID          string
	Found       *pipeline.Verification
	Judge       pipeline.Judge // which guarantee the exit status speaks of
	Unrepeated  error          // why training could not be repeated; nil: it was, or nobody asked
	unplaced    string         // what the data, but not the certificate, say of their place in a topic; or ""
}

// conditional reports whether a guarantee rests on the maker's word about hold-out rows.
func (v *verified) conditional() bool {
	return slices.ContainsFunc(v.Certificate.Conditional(), func(g certify.Guarantee) bool { return g.Role == certify.RoleHoldout })
}

// NotChecked lists the unchecked premises of the guarantees.
func (v *verified) NotChecked() []string {
	open := v.Found.NotChecked()
	if v.Unrepeated != nil && v.conditional() {
		open[0] += ": " + v.Unrepeated.Error()
	}
	if v.unplaced != "" {
		open = append(open, v.unplaced)
	}
	return open
}

// said is the guarantee for the judged predictor.
func (v *verified) said() certify.Guarantee {
	return v.Certificate.About(v.Judge.Predictor())
}

// Uncertified is an error unless all that was asked for was done, the rows were read, and the guarantee for
// the judged predictor is certified, under the assumptions that NotChecked lists.
func (v *verified) Uncertified() error {
	said := v.said()
	switch {
	case v.Unrepeated != nil:
		return pipeline.NotCertified("%s", v.Unrepeated.Error())
	case said.Status.Promises() && !v.Found.Evidence:
		return pipeline.NotCertified("nothing is certified without the rows: how often the model missed is its maker's word. Give the data to check it")
	case said.Status.Promises():
		return nil
	default:
		return pipeline.NotCertified("the certificate is what it says, and certifies nothing about the %s: its guarantee is %s", said.Predictor, said.Status)
	}
}

// Verdict is the result in a line.
func (v *verified) Verdict() string {
	switch {
	case !v.Found.Evidence:
		return "arithmetic consistent, evidence not rechecked: give the data to check everything"
	case !v.said().Status.Promises():
		return fmt.Sprintf("nothing is certified about the %s: so says the certificate, which follows from the model and these rows", v.said().Predictor)
	}
	text := "verified: the certificate follows from the model and these rows"
	if len(v.Certificate.Sample.Segments) > 0 && !v.Found.Log {
		text = "verified, but for the topic that its sentences name: the certificate follows from the model and these rows"
	}
	if v.Found.Retrained {
		text += ", and the model from training again"
	}
	return text
}

// Print prints the checks, the verdict and, with statement, the certificate. paper is for colours.
func (v *verified) Print(out, paper io.Writer, style report.Style, statement bool) error {
	c := v.Certificate
	for _, line := range v.Found.Checked {
		report.WriteWrapped(out, "ok: ", line, style)
	}
	for _, line := range v.NotChecked() {
		report.WriteWrapped(out, "NOT CHECKED: ", line, style)
	}
	report.WriteWrapped(out, "", v.Verdict(), style)
	if _, err := fmt.Fprintf(out, "id %s\n", v.ID); err != nil || !statement {
		return err
	}
	who := report.Anybody
	if !v.Found.Evidence {
		who = report.Unread
	}
	report.WriteHeadlines(paper, c, style, who)
	if split := c.Split(); split != "" {
		report.WriteWrapped(out, "", split, style)
	}
	if v.Found.Retrained && v.conditional() && c.Declared.Training.Ancestor == nil {
		report.WriteWrapped(out, "", "Training did not see the hold-out rows: trained again here without them, the model is the same to the last byte.", style)
	}
	for _, g := range c.Guarantees {
		report.WriteWrapped(out, "", fmt.Sprintf("\n%s, %s: %s", g.ID, g.Predictor, v.Status(g)), style)
		report.WriteWrapped(out, "  ", g.Statement, style) // no name starts a line of its own
	}
	return report.WriteDeclared(paper, c, style, v.Found.Retrained)
}

// Status is the status of a guarantee after these checks.
func (v *verified) Status(g certify.Guarantee) certify.Status {
	if g.Status.Promises() && !v.Found.Evidence {
		return report.Claimed
	}
	return g.Status
}
