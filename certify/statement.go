package certify

import (
	"fmt"
	"strconv"
	"strings"
)

// statement puts a guarantee into words, with its status first where it is not
// certified. Numbers are rounded outwards.
func statement(g Guarantee, baseline Baseline, assumptions []Assumption) string {
	switch g.Status {
	case StatusIndicative:
		return indicative(g, assumptions)
	case StatusVacuous:
		return vacuous(g, baseline)
	default:
		return certified(g)
	}
}

// certified says what the theorem gives, and for whom.
func certified(g Guarantee) string {
	population := fmt.Sprintf("Under the stated assumptions, and with confidence of at least %s over the draw of the N = %d certified rows (the train rows; reference rows are not counted), "+
		"for a fresh row drawn independently from the same source that satisfies the row rules: ", confidence(g.Delta), g.N)
	if g.ID == GuaranteeMean {
		return population + claim(g) + fmt.Sprintf(". This is twice the bound of %s and holds on the same event.", GuaranteeDraw)
	}
	words := population + claim(g)
	if g.LowerBound > 0 {
		words += fmt.Sprintf(" (and, on the same event, at least %s)", atLeast(g.LowerBound))
	}
	return words + ". The fresh row and the function are drawn together, once; the number is an average over both and speaks of no single row, nor of the mean of Q."
}

// vacuous says why the bound says nothing.
func vacuous(g Guarantee, baseline Baseline) string {
	if !(g.Bound < 1) {
		return fmt.Sprintf("Vacuous: nothing is promised about %s. The bound is 1, which holds for every predictor.", subject(g))
	}
	return fmt.Sprintf("Vacuous: nothing useful is promised about %s. Its bound, %s, is not below %s, the bound that the constant prediction %s gets on the same %d rows.",
		subject(g), AtMost(g.Bound), AtMost(baseline.Bound), plain(baseline.Constant), g.N)
}

// indicative says which assumptions are broken.
func indicative(g Guarantee, assumptions []Assumption) string {
	var words strings.Builder
	words.WriteString("Indicative only: NOTHING IS CERTIFIED, because an assumption of the theorem is broken.")
	for _, a := range assumptions {
		if a.Status == AssumptionBroken {
			fmt.Fprintf(&words, " Broken: %s. The theorem needs: %s What happened: %s", a.ID, a.Text, a.Diagnostic)
		}
	}
	fmt.Fprintf(&words, " The formula gives %s for %s, which bounds nothing.", AtMost(g.Bound), subject(g))
	return words.String()
}

// subject names the predictor.
func subject(g Guarantee) string {
	if g.Predictor == PredictorMean {
		return "the mean of the fitted law Q"
	}
	return "a function drawn at random from the fitted law Q"
}

// claim says what is at most the bound. For losses of 0 and 1 it is a
// probability, for others an expectation.
func claim(g Guarantee) string {
	target := strconv.Quote(g.Loss.Target)
	limit := "at most " + AtMost(g.Bound)
	switch g.Loss.Kind {
	case LossZeroOne:
		return fmt.Sprintf("%s misses the target %s by more than %s with probability %s", subject(g), target, amount(g.Loss, g.Loss.Epsilon), limit)
	case LossBand:
		return fmt.Sprintf("%s is more than %s below the target %s, or more than %s above it, with probability %s",
			subject(g), amount(g.Loss, g.Loss.Below), target, amount(g.Loss, g.Loss.Above), limit)
	default:
		return fmt.Sprintf("the expected loss of %s is %s, where predicting f for the target %s = y loses %s", subject(g), limit, target, formula(g.Loss))
	}
}

// formula writes a loss that is not of 0 and 1, as a function of f and y.
func formula(l Loss) string {
	switch l.Kind {
	case LossSquared:
		return fmt.Sprintf("((f - y) / %s)^2, but at most 1, with f and y in %s", plain(l.Epsilon), unit(l))
	case LossExponential:
		return fmt.Sprintf("1 - exp(-((f - y) / %s)^2), with f and y in %s", plain(l.Epsilon), unit(l))
	default:
		return "|f - y| / |y|, but at most 1 (and 1 for y = 0)"
	}
}

// amount writes a tolerance with its unit.
func amount(l Loss, x float64) string {
	if l.Unit == "" {
		return plain(x) + " (in units of the target)"
	}
	return plain(x) + " " + l.Unit
}

// unit names the unit of the target.
func unit(l Loss) string {
	if l.Unit == "" {
		return "units of the target"
	}
	return l.Unit
}

// baselineStatement puts the baseline into words.
func baselineStatement(b Baseline, draw Guarantee, assumptions []Assumption) string {
	origin := "declared"
	if b.Origin == OriginReference {
		origin = "chosen on the reference rows"
	}
	words := fmt.Sprintf("The constant prediction %s, %s, has a mean loss of at most %s on the same N = %d rows.",
		plain(b.Constant), origin, AtMost(b.EmpiricalRisk.Upper), draw.N)
	if broken(assumptions) {
		return words + fmt.Sprintf(" The formula gives %s for a fresh row, which bounds nothing, because an assumption is broken.", AtMost(b.Bound))
	}
	return words + fmt.Sprintf(" Under the stated assumptions, and with confidence of at least %s over the draw of these rows, its expected loss on a fresh row is at most %s. "+
		"This holds at its own confidence, not jointly with the guarantees.", confidence(draw.Delta), AtMost(b.Bound))
}
