package report

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

// Assumption puts an assumption into words, and how it is checked.
func Assumption(c certify.Certificate, a certify.Assumption) (text, checked string) {
	switch a.ID {
	case certify.AssumeIndependentRows:
		text, checked = "rows are independent draws of one source", "no sign of dependence found"
		if c.Warned(certify.WarnDependence) {
			checked = "there are signs of dependence"
		}
	case certify.AssumeIndependentUnits:
		text = "units of " + columns(c.Counts.Units.Columns) + " are independent draws of one source"
	case certify.AssumeSplitFixed:
		text = "the split does not depend on the rows' values"
	case certify.AssumeJobFixed:
		text, checked = "the job was not tuned on training or held-out rows", "first use of exactly these held-out rows"
		if l := c.Delta.Reuse; l != nil {
			checked = fmt.Sprintf("use %d of the held-out rows", len(l.Earlier)+1)
		} else if c.Counts.Holdout == 0 {
			text, checked = "the job was not tuned on the training rows", ""
		}
	case certify.AssumeNumberReserved:
		text = fmt.Sprintf("run %d of %s was reserved before a bound was known, and has one certificate", c.Delta.Sequence.Number, words.Name(c.Delta.Sequence.Name))
	case certify.AssumeHoldoutUnseen:
		text = "training did not use the held-out rows"
	case certify.AssumeMeanFixed:
		rows := map[bool]string{true: "held-out rows", false: "training and held-out rows"}[c.Counts.Outside == 0 && c.Counts.Holdout > 0]
		text = "the column " + words.Name(c.Mean.Column) + " was fitted without the " + rows
	case certify.AssumeDuplicates:
		text = "repeated rows are copies, not independent draws"
	case certify.AssumeLog:
		text = "the rows are those of the topic at the stated offsets"
	case certify.AssumePrior:
		text = "prior, loss and split follow from job and prior rows"
	case certify.AssumeRisk:
		text = "the losses are those of the model on these rows"
	case certify.AssumeJitter:
		text = "rounding errors in the model file are small enough"
	default:
		text = string(a.ID)
	}
	how := map[certify.Check]string{
		certify.CheckNone: "cannot be checked", certify.CheckVerify: "checked by verify",
		certify.CheckRetraining: "checked by verify --retrain", certify.CheckReplay: "checked by verify --source",
	}[a.Checked]
	if checked != "" {
		how += "; " + checked
	}
	if a.Fails {
		how = "FAILS"
	}
	return text, how
}

// Warning puts a warning into words: what it means for the reader's number.
func Warning(c certify.Certificate, w certify.Warning) string {
	part := ""
	if w.Of > 0 {
		part = words.PercentNear(float64(w.Count) / float64(w.Of))
	}
	switch w.Code {
	case certify.WarnOtherJobs:
		return fmt.Sprintf("%s tried on these rows before: if this job was changed after their results were seen, the bounds may be too low", map[bool]string{true: "1 other job was", false: words.Number(w.Count) + " other jobs were"}[w.Count == 1])
	case certify.WarnDuplicates:
		if c.Duplicates.Policy == certify.DuplicatesDropped {
			return part + " of the rows repeat an earlier row and were dropped: the bounds are about distinct rows"
		}
		return part + " of the rows repeat an earlier row: if they are duplicates, the bounds are too low"
	case certify.WarnRejected:
		return part + " of the rows were rejected: the bounds are not about such rows"
	case certify.WarnMeanFitted:
		return fmt.Sprintf("the column %s is %s nearer to the target on training rows than on prior rows: if it was fitted on them, the bounds are too low", words.Name(c.Mean.Column), words.PercentNear(w.Value))
	case certify.WarnDependence:
		which := "neighbouring rows"
		if w.Count > 1 {
			which = fmt.Sprintf("rows %d apart", w.Count)
		}
		return fmt.Sprintf("%s are alike (correlation of their targets %.2f): unless the rows were sorted, they depend on each other, and the bounds may be too low", which, w.Value)
	case certify.WarnLargeUnit:
		return fmt.Sprintf("one unit has %s of the rows: the bound is an average over units, and says little about rows", part)
	}
	return string(w.Code)
}

// Warnings are all warnings in words.
func Warnings(c certify.Certificate) []string {
	all := make([]string, 0, len(c.Warnings))
	for _, w := range c.Warnings {
		all = append(all, Warning(c, w))
	}
	return all
}

// ModelWarnings are warnings for anyone who uses predictions of a certificate that was checked against its
// model alone.
func ModelWarnings(c certify.Certificate) []string {
	var all []string
	if g := c.About(certify.PredictorMean); g.Status != certify.StatusCertified {
		all = append(all, "predictions carry no certificate id: "+Headline(c, g))
	}
	return append(all, Warnings(c)...)
}
