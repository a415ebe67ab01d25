package certify

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// doNotHold joins assumptions into "… and … do not hold".
func doNotHold(assumptions []string) string {
	if len(assumptions) == 1 {
		return assumptions[0] + " does not hold"
	}
	return strings.Join(assumptions, " and ") + " do not hold"
}

// headline is the one-line summary: predictor, tolerance, largest frequency, confidence. Every
// number is rounded outwards.
func headline(g Guarantee, c Certificate) string {
	nothing, fresh := "nothing", c.fresh()
	if slices.ContainsFunc(c.Guarantees, func(o Guarantee) bool { return o.Predictor == g.Predictor && o.Status == StatusConditional }) {
		nothing = "without its maker's word nothing"
	}
	form := g.Loss.Kind.form()
	switch {
	case c.spent(g):
		return fmt.Sprintf("nothing is certified about %s: an earlier look at these hold-out rows showed a curve of them", subject(g))
	case g.Status == StatusIndicative && !broken(c.Assumptions):
		return fmt.Sprintf("nothing is certified about %s: the column %s may have been fitted on the train rows", subject(g), quoted(c.Mean.Column))
	case g.Status == StatusIndicative:
		return fmt.Sprintf("nothing is certified about %s: %s", subject(g), doNotHold(brokenOnes(c.Assumptions)))
	case g.Status == StatusVacuous && !(g.Bound < 1):
		return fmt.Sprintf("%s is promised about %s: the bound is 1, which holds for every predictor", nothing, subject(g))
	case g.Status == StatusVacuous:
		return fmt.Sprintf("%s useful is promised about %s: the bound, %s, is not below %s",
			nothing, subject(g), PercentUp(g.Bound), yardstick(PercentUp, g, c.Baseline, "a constant"))
	case g.Groups != nil:
		return g.Groups.headline(subject(g), miss(g.Loss, c.Declared.Unit, atMostDigits), fresh) + " " + c.sure(g)
	case form.counts:
		return fmt.Sprintf("%s are %s in at most %s of %s%s %s", subject(g), miss(g.Loss, c.Declared.Unit, atMostDigits), PercentUp(g.Bound), fresh, g.Curve.within(c.Declared.Unit), c.sure(g))
	case form.average != "":
		return fmt.Sprintf("%s are "+form.average+", %s", subject(g), PercentUp(g.Bound), fresh, c.sure(g))
	default:
		return fmt.Sprintf("%s lose at most %s on average over %s, where an error e costs %s, %s", subject(g), AtMost(g.Bound), fresh, cost(g.Loss, c.Declared.Unit, atMostDigits), c.sure(g))
	}
}

// fresh names the rows that a guarantee is about.
func (c Certificate) fresh() string {
	fresh := "fresh " + c.Copies.distinct() + "rows"
	if u := c.Ledger.Units; u != nil {
		fresh = "the rows of a fresh " + u.Words() + ", on average over its rows"
	}
	if places := c.Sample.places(maxRanges); places != "" {
		fresh += " of " + places
	}
	if c.Ledger.Bad > 0 {
		fresh += " that satisfy the row rules"
	}
	return fresh
}

// Interval describes the interval mean ± tolerance, which covers at least a share of fresh rows by the
// curve of a guarantee.
func (c Certificate) Interval(g Guarantee, tolerance, share float64) string {
	return fmt.Sprintf("mean -/+ %s: they cover at least %v of %s, on average over them, with %s", amountText(plain(tolerance), c.Declared.Unit), share, c.fresh(), c.sure(g))
}

// spent reports whether a guarantee is indicative because an earlier look at its rows showed a curve.
func (c Certificate) spent(g Guarantee) bool {
	return !broken(c.Assumptions) && g.Role == RoleHoldout && c.Delta.Looks.ended()
}

// sure returns the confidence of a guarantee, and the conditions of a hold-out and of a column of the
// mean.
func (c Certificate) sure(g Guarantee) string {
	words, fixed := confidence(g.Delta)+" confidence", c.Mean.fixed()
	switch {
	case g.Role == RoleHoldout && fixed != "":
		return words + " if training did not see the hold-out rows, " + fixed + ", and split and job owe nothing to their values"
	case g.Role == RoleHoldout:
		return words + " if training did not see the hold-out rows, and split and job owe nothing to their values"
	case fixed != "":
		return words + " if " + fixed
	}
	return words
}

// subject names the predictions that a guarantee is about.
func subject(g Guarantee) string {
	return fmt.Sprintf(predictors[g.Predictor.number()].subject, quoted(g.Loss.Target))
}

// miss returns the condition for a loss of 1 if losses are 0 or 1, else the cost of an error e.
func miss(l TargetLoss, unit string, digits func(float64) string) string {
	return l.Kind.form().words(l.Loss, func(tolerance float64) string { return amountText(digits(tolerance), unit) })
}

// cost returns the loss as a function of the error e.
func cost(l TargetLoss, unit string, digits func(float64) string) string {
	words := miss(l, unit, digits)
	if l.Kind.Counts() {
		return "1 if it is " + words + ", else 0"
	}
	return words
}

// amountText writes a tolerance with its unit.
func amountText(x, unit string) string {
	if unit == "" {
		return x
	}
	return x + " " + quoted(unit)
}

// statement puts a guarantee into words in full, with its status first where it
// is not certified. Numbers are rounded outwards.
func statement(g Guarantee, c Certificate) string {
	switch g.Status {
	case StatusIndicative:
		return indicative(g, c)
	case StatusVacuous:
		return vacuous(g, c.Baseline)
	case StatusConditional, StatusCertified:
		return certified(g, c)
	}
	panic("certify: a guarantee of status " + string(g.Status)) // Certify gives them all
}

// certified states the bound, its assumptions and the rows that it is about.
func certified(g Guarantee, c Certificate) string {
	of := c.Ledger.Example()
	rows, assumptions := fmt.Sprintf("certified %[1]ss (the train %[1]ss; reference %[1]ss are not counted)", of), "Under the stated assumptions"
	if g.Role == RoleHoldout {
		if rows = "hold-out " + of + "s"; c.Roles.Last {
			rows += ", the last ones of the sample"
		}
		assumptions = fmt.Sprintf("If training did not see the hold-out rows (%s), their set was fixed before their values were known (%s), and the job owes nothing to their values (%s), under the other stated assumptions",
			AssumeHoldoutUnseen, AssumeHoldoutFixed, AssumeOneAttempt)
	}
	if fixed := c.Mean.fixed(); fixed != "" {
		assumptions += fmt.Sprintf(", among them that %s (%s)", fixed, AssumeMeanFixed)
	}
	source := "the same source"
	if places := c.Sample.places(math.MaxInt); places != "" {
		source += ", " + places + ","
	}
	rules := "that satisfies the row rules"
	drawn := fmt.Sprintf("a fresh %srow drawn independently from %s %s", c.Copies.distinct(), source, rules)
	if u := c.Ledger.Units; u != nil {
		drawn = fmt.Sprintf("a fresh %s drawn independently from %s, on average over its rows that satisfy the row rules", u.Words(), source)
		of = "unit, one of its rows"
	}
	words := fmt.Sprintf("%s, and with confidence of at least %s over the draw of the N = %s, for %s: %s",
		assumptions, confidence(g.Delta), fmt.Sprint(g.N, " ", rows), drawn, claim(g, c.Declared.Unit))
	if g.Predictor == PredictorDraw {
		words += ". The fresh " + of + " and the function are drawn together, once; the number is an average over both and speaks of no single row, nor of the predictor"
	} else {
		words += ". "
		if g.ID == GuaranteeMean {
			words += fmt.Sprintf("This is twice the bound of %s and holds on the same event. ", GuaranteeDraw)
		}
		words += fmt.Sprintf("It speaks of predictions that are within %s of the exact mean; a reader that cannot prove this of a row gives no prediction for it",
			amountText(atLeastDigits(c.Accuracy.Tau), c.Declared.Unit))
	}
	if len(c.Delta.Methods) > 1 {
		words += ". It holds together with the other guarantees of this certificate"
	}
	if g.Role == RoleHoldout {
		words += c.Delta.Looks.words()
	}
	return words + c.Copies.words() + c.Delta.Sequence.words() + "."
}

// vacuous says why the bound says nothing.
func vacuous(g Guarantee, b Baseline) string {
	if !(g.Bound < 1) {
		return fmt.Sprintf("Vacuous: nothing is promised about %s. The bound is 1, which holds for every predictor.", subject(g))
	}
	return fmt.Sprintf("Vacuous: nothing useful is promised about %s. Its bound, %s, is not below %s on the train rows.",
		subject(g), AtMost(g.Bound), yardstick(AtMost, g, b, "the constant prediction "+nearDigits(b.Constant)))
}

// yardstick names the baseline of a vacuous guarantee, with its number unless it is printed like the
// guarantee's bound.
func yardstick(digits func(float64) string, g Guarantee, b Baseline, constant string) string {
	words := "what the formula gives for " + constant
	if number := digits(b.Bound); number != digits(g.Bound) {
		return number + ", " + words
	}
	return words
}

// indicative says which assumptions are broken.
func indicative(g Guarantee, c Certificate) string {
	var words strings.Builder
	words.WriteString("Indicative only: NOTHING IS CERTIFIED, because ")
	switch {
	case broken(c.Assumptions):
		words.WriteString("an assumption of the theorem is broken.")
	case c.spent(g):
		words.WriteString("an earlier look at these hold-out rows showed a curve of them. It tells far more than a count, and nobody can pay for what a job may have learnt from it.")
	default:
		fmt.Fprintf(&words, "the theorem needs a prior that was fixed without the train rows, and the column %s, which is its mean, may have been fitted on them.", quoted(c.Mean.Column))
	}
	for _, a := range c.Assumptions {
		if a.Status == AssumptionBroken {
			fmt.Fprintf(&words, " Broken: %s. The theorem needs: %s What happened: %s", a.ID, a.Text, a.Diagnostic)
		}
	}
	fmt.Fprintf(&words, " The formula gives %s for %s, which bounds nothing.", AtMost(g.Bound), subject(g))
	return words.String()
}

// claim states the bound: of a probability for losses of 0 and 1, of an
// expectation for others.
func claim(g Guarantee, unit string) string {
	if g.Groups != nil {
		return g.Groups.claim(subject(g), miss(g.Loss, unit, plain))
	}
	limit := "at most " + AtMost(g.Bound)
	if g.Curve != nil {
		return fmt.Sprintf("for every tolerance at once, %s are off by more than it with probability at most %s; %s with probability %s%s", subject(g), ofLastStep, miss(g.Loss, unit, plain), limit, g.Curve.intervals(unit))
	}
	if g.Loss.Kind.Counts() {
		return fmt.Sprintf("%s are %s with probability %s", subject(g), miss(g.Loss, unit, plain), limit)
	}
	return fmt.Sprintf("%s have an expected loss of %s, where an error e (prediction less target) costs %s", subject(g), limit, cost(g.Loss, unit, plain))
}

// baselineStatement puts the yardstick into words. It claims nothing about fresh
// rows: the constant may have been chosen on the certified ones.
func baselineStatement(b Baseline, l Ledger) string {
	rows := "the reference rows"
	if b.Origin == OriginStart {
		rows = "the first rows by rank"
	}
	words := fmt.Sprintf("A yardstick: of constant predictions, %s is the best of 512 on %s. It loses at least %s on the N = %d certified %ss, for which the formula gives %s. "+
		"A guarantee whose bound is not below this is called vacuous; about fresh rows the number says nothing.",
		nearDigits(b.Constant), rows, atLeast(b.EmpiricalRisk.Lower), l.of(RoleTrain), l.Example(), AtMost(b.Bound))
	return words
}
