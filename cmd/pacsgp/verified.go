package main

import (
	"fmt"
	"io"
	"strings"

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
	Required    pipeline.Required // which claim the exit status is about
	Unrepeated  error             // why training could not be repeated, if that was asked for; nil: it was
}

// NotChecked lists what was not checked: what another check could, and what none can.
func (v *verified) NotChecked() (could, cannot []string) {
	if !v.Found.Evidence {
		could = append(could, "prior, split and losses: name the rows, as in pacsgp verify out/ lake/")
	}
	for _, a := range v.Found.NotChecked() {
		text, how := report.Assumption(v.Certificate, a)
		switch {
		case a.Checked == certify.CheckVerify: // said above
		case a.Checked == certify.CheckNone:
			cannot = append(cannot, text)
		case a.Checked == certify.CheckRetraining && v.Unrepeated != nil:
			could = append(could, text+" ("+v.Unrepeated.Error()+")")
		default:
			could = append(could, text+" ("+how+")")
		}
	}
	return could, cannot
}

// claim is the one that the exit status is about.
func (v *verified) claim() certify.Claim { return v.Required.Of(v.Certificate) }

// Uncertified is an error unless the claim is certified, and training was repeated if that was asked
// for. If strict, it is also one while something that could be checked was not.
func (v *verified) Uncertified(strict bool) error {
	could, _ := v.NotChecked()
	switch g := v.claim(); {
	case v.Unrepeated != nil:
		return pipeline.NotCertified("%s", v.Unrepeated.Error())
	case g.Status != certify.StatusCertified:
		return pipeline.NotCertified("the certificate is correct, but nothing useful is certified about the %s: the claim is %s (hint: %s)", g.Predictor, g.Status, pipeline.Useless(g))
	case strict && len(could) > 0:
		return pipeline.NotCertified("not checked, though it could be: %s", strings.Join(could, "; "))
	default:
		return nil
	}
}

func (v *verified) warnings() []string {
	return append(report.Warnings(v.Certificate), v.Found.Warnings...)
}

// Verdict is the result in a word: what was compared agrees.
func (v *verified) Verdict() string {
	if v.Found.Evidence {
		return "VERIFIED"
	}
	return "CONSISTENT"
}

// Print prints the checks, what was not checked, and the verdict.
func (v *verified) Print(out io.Writer, style report.Style) error {
	for _, line := range v.Found.Checked {
		report.WriteWrapped(out, "ok   ", line, style)
	}
	could, cannot := v.NotChecked()
	for _, line := range could {
		report.WriteWrapped(out, "--   ", "not checked: "+line, style)
	}
	if len(cannot) > 0 {
		report.WriteWrapped(out, "--   ", "cannot be checked: "+strings.Join(cannot, "; "), style)
	}
	for _, text := range v.warnings() {
		report.WriteWrapped(out, "warning  ", text, style)
	}
	report.WriteWrapped(out, v.Verdict()+"  ", report.Headline(v.Certificate, v.claim()), style)
	_, err := fmt.Fprintf(out, "certificate %s\n", v.ID)
	return err
}
