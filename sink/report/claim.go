package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

// Headline returns a claim as one sentence. Its numbers are rounded outwards.
func Headline(c certify.Certificate, g certify.Claim) string {
	of := subject(c, g)
	switch {
	case g.Status == certify.StatusVoid:
		return fmt.Sprintf("Nothing is certified about %s: %s.", of, failure(c, g))
	case g.Curve != nil && c.Loss.Tolerance == certify.AnyTolerance:
		return within(c, g, of)
	case g.Groups == nil && (words.Bound(c.Loss.Shares(), g.Bound) == "100 %" || !(g.Bound < 1)):
		return fmt.Sprintf("Nothing is certified about %s: the bound is 100 %%.", of)
	case g.Status == certify.StatusVacuous:
		return fmt.Sprintf("Nothing useful is certified about %s: the bound, %s, is not below the best constant's, %s.", of, words.Bound(c.Loss.Shares(), g.Bound), words.Bound(c.Loss.Shares(), g.Baseline))
	}
	off, sure := miss(c), "("+words.Confidence(g.Delta)+" confidence)"
	switch {
	case g.Groups != nil:
		return upper(fmt.Sprintf("%s are %s in at most %s %s.", of, off, byGroup(c, g), sure))
	case c.Loss.Kind.Counts():
		return upper(fmt.Sprintf("%s are %s in at most %s of %s %s.", of, off, words.Bound(c.Loss.Shares(), g.Bound), NewRows(c), sure))
	case c.Loss.Kind == certify.LossRelative:
		return upper(fmt.Sprintf("%s are off by at most %s of the target on average over %s, each counted as 100 %% at most %s.", of, words.Bound(c.Loss.Shares(), g.Bound), NewRows(c), sure))
	}
	return upper(fmt.Sprintf("%s lose at most %s on average over %s, where an error e costs %s %s.", of, words.Bound(c.Loss.Shares(), g.Bound), NewRows(c), off, sure))
}

// within returns the headline of a curve: the interval that covers 90 % of new rows.
func within(c certify.Certificate, g certify.Claim, predictions string) string {
	rows := words.PercentDeclared(certify.CurveShare) + " of " + NewRows(c)
	switch t, ok := g.Curve.Within(certify.CurveShare); {
	case !ok:
		return fmt.Sprintf("Nothing is certified about %s: no interval covers %s.", predictions, rows)
	case g.Status == certify.StatusVacuous:
		return fmt.Sprintf("Nothing useful is certified about %s: the interval that covers %s is ± %s, and that of the best constant ± %s.", predictions, rows, words.Amount(t, c.Loss.Unit), words.Amount(c.Constant.HalfWidth, c.Loss.Unit))
	default:
		return upper(fmt.Sprintf("%s are within %s of the target in at least %s (%s confidence).", predictions, words.Amount(t, c.Loss.Unit), rows, words.Confidence(g.Delta)))
	}
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// subject returns what a claim is about, as the subject of a sentence.
func subject(c certify.Certificate, g certify.Claim) string {
	of := "predictions of " + words.Name(c.Loss.Target)
	switch {
	case g.Predictor == certify.PredictorDraw:
		of += " by a random draw from the posterior"
	case g.Subset == certify.SubsetTraining && c.Delta.Uses(certify.SubsetHoldout):
		of += " (from training rows alone)"
	}
	return of
}

// failure returns why a claim is void: the assumption that fails, in words.
func failure(c certify.Certificate, g certify.Claim) string {
	switch {
	case !c.Model.Jitter.Holds:
		return "rounding errors in the model file are too large"
	case g.Subset == certify.SubsetHoldout:
		return "earlier jobs in this output have used these held-out rows up"
	case c.Mean != nil:
		return "the column " + words.Name(c.Mean.Column) + " may have been fitted on the training rows"
	}
	return "the certificate has no claim about them"
}

// miss returns the condition for a loss of 1, or the cost of an error e if losses are not 0 or 1.
func miss(c certify.Certificate) string {
	l := c.Loss
	switch l.Kind {
	case certify.LossZeroOne:
		return "off by more than " + words.Amount(l.Epsilon, c.Loss.Unit)
	case certify.LossBand:
		return fmt.Sprintf("more than %s too low or more than %s too high", words.Amount(l.Below, c.Loss.Unit), words.Amount(l.Above, c.Loss.Unit))
	case certify.LossRelativeZeroOne:
		return "off by more than " + words.PercentDeclared(l.Epsilon) + " of the target"
	case certify.LossSquared:
		return fmt.Sprintf("(e / %s)^2, but at most 1", words.Amount(l.Epsilon, c.Loss.Unit))
	case certify.LossExponential:
		return fmt.Sprintf("1 - exp(-(e / %s)^2)", words.Amount(l.Epsilon, c.Loss.Unit))
	case certify.LossRelative:
	}
	return "|e| / |target|, but at most 1"
}

// NewRows returns the name of the new rows that the certificate is about.
func NewRows(c certify.Certificate) string {
	rows := "new rows"
	if u := c.Counts.Units; u != nil {
		rows = "the rows of a new unit of " + columns(u.Columns) + ", on average over units"
	}
	if positions := partitions(c.Sample.Segments); positions != "" {
		rows += " of " + positions
	}
	return rows
}

func columns(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = words.Name(name)
	}
	return strings.Join(quoted, " and ")
}

// byGroup returns the largest and the smallest bound among the groups, as a part of a sentence.
func byGroup(c certify.Certificate, g certify.Claim) string {
	var bounded []int
	var silent []string
	for i, of := range g.Groups {
		if of.Bound < 1 {
			bounded = append(bounded, i)
		} else {
			silent = append(silent, group(c, i))
		}
	}
	order := func(i, j int) int { return cmp.Compare(g.Groups[i].Bound, g.Groups[j].Bound) }
	worst, best := slices.MaxFunc(bounded, order), slices.MinFunc(bounded, order)
	text := fmt.Sprintf("%s of new rows %s", words.PercentUp(g.Groups[worst].Bound), group(c, worst))
	if best != worst {
		text += fmt.Sprintf(" (the worst group) and %s %s (the best)", words.PercentUp(g.Groups[best].Bound), group(c, best))
	}
	if len(silent) > 0 {
		text += ", and nothing is certified " + strings.Join(silent, " and ")
	}
	return text
}

// group returns the name of the new rows in group i of the certificate's grouping.
func group(c certify.Certificate, i int) string {
	by := c.Grouping
	switch {
	case i == len(by.Values):
		return "on all other rows"
	case by.Texts != nil:
		return fmt.Sprintf("where %s is %q", words.Name(by.Column), by.Texts[i])
	}
	return fmt.Sprintf("where %s is %s", words.Name(by.Column), words.Plain(by.Values[i]))
}

// partitions names the partitions of the rows, since each may have its own population. It returns
// "" for rows that are not from a log.
func partitions(segments []certify.Segment) string {
	byTopic := map[string][]int64{}
	for _, g := range segments {
		byTopic[g.Topic] = append(byTopic[g.Topic], g.Partition)
	}
	topics := slices.Sorted(maps.Keys(byTopic))
	for i, topic := range topics {
		all := slices.Compact(slices.Sorted(slices.Values(byTopic[topic])))
		switch last := len(all) - 1; {
		case last == 0:
			topics[i] = fmt.Sprintf("partition %d of %s", all[0], words.Name(topic))
		case all[last]-all[0] == int64(last):
			topics[i] = fmt.Sprintf("partitions %d-%d of %s", all[0], all[last], words.Name(topic))
		default:
			topics[i] = fmt.Sprintf("%d partitions of %s", len(all), words.Name(topic))
		}
	}
	return strings.Join(topics, " and ")
}

// evidence returns what a claim was computed from, on one line.
func evidence(c certify.Certificate, g certify.Claim) string {
	switch {
	case g.Groups != nil:
		return fmt.Sprintf("%s held-out rows in %s", words.Number(g.N), words.Count(len(g.Groups), "group"))
	case g.Misses != nil && (g.Curve == nil || c.Loss.Tolerance == ""):
		return fmt.Sprintf("%s of %s held-out rows were missed", words.Number(*g.Misses), words.Number(g.N))
	case g.Subset == certify.SubsetHoldout:
		return words.Count(g.N, "held-out "+c.Counts.Example())
	}
	return words.Count(g.N, "training "+c.Counts.Example())
}

// Assumption returns an assumption in words, and how it is checked.
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
		text, checked = "the job was not tuned on training or held-out rows", "first use of exactly these held-out rows in this output"
		if l := c.Delta.Reuse; l != nil {
			checked = "the held-out bound pays for " + words.Count(len(l.Earlier), "earlier use")
		} else if c.Counts.Holdout == 0 {
			text, checked = "the job was not tuned on the training rows", ""
		}
	case certify.AssumeNumberReserved:
		text = fmt.Sprintf("the number of run %d of %s was fixed before its bound was known, and has one certificate", c.Delta.Sequence.Number, words.Name(c.Delta.Sequence.Name))
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

// warning returns a warning as a sentence: what it means for the reader's number.
func warning(c certify.Certificate, w certify.Warning) string {
	part := ""
	if w.Of > 0 {
		part = words.PercentNear(float64(w.Count) / float64(w.Of))
	}
	switch w.Code {
	case certify.WarnOtherJobs:
		return fmt.Sprintf("%s tried on the training data before: if this job was changed after their results were seen, the bounds may be too low", map[bool]string{true: "1 other job was", false: words.Number(w.Count) + " other jobs were"}[w.Count == 1])
	case certify.WarnDuplicates:
		if c.Duplicates.Policy == certify.DuplicatesDropped {
			return part + " of the rows that train read repeat an earlier row and were dropped: the bounds are about distinct rows"
		}
		return part + " of the rows that train read repeat an earlier row: if they are duplicates, the bounds are too low"
	case certify.WarnRejected:
		return part + " of the rows that train read were rejected: the bounds are not about such rows" +
			words.If(c.Counts.Units != nil || c.Grouping != nil, "; new rows, too, must have a value in the columns of units or groups, which predict and watch do not always check")
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

// Warnings returns all warnings as sentences.
func Warnings(c certify.Certificate) []string {
	all := make([]string, 0, len(c.Warnings))
	for _, w := range c.Warnings {
		all = append(all, warning(c, w))
	}
	return all
}

// ModelWarnings returns the warnings for a user of predictions, if the certificate was checked
// against its model but not against the rows.
func ModelWarnings(c certify.Certificate) []string {
	var all []string
	if g := c.About(certify.PredictorMean); g.Status != certify.StatusCertified {
		all = append(all, "predictions carry no certificate id: "+Headline(c, g))
	}
	return append(all, Warnings(c)...)
}
