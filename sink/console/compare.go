package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
)

// A comparison is a number or a word of both certificates. Better names the better one, or is "".
type comparison struct {
	Name, One, Other, Better string
}

// compared lists the numbers of two comparable certificates.
func compared(a, b certify.Certificate) []comparison {
	var rows []comparison
	for _, p := range []certify.Predictor{certify.PredictorMean, certify.PredictorDraw} {
		one, other := a.About(p), b.About(p)
		rows = append(rows, comparison{"bound for the " + titles[p], bound(one), bound(other), lower(one, other)})
	}
	for _, id := range []certify.GuaranteeID{certify.GuaranteeHoldout, certify.GuaranteeDraw} {
		one, ok := a.Guarantee(id)
		other, also := b.Guarantee(id)
		if !ok || !also {
			continue
		}
		if id == certify.GuaranteeHoldout {
			rows = append(rows, comparison{"bound from hold-out rows", bound(one), bound(other), lower(one, other)})
			continue
		}
		rows = append(rows,
			comparison{"empirical risk of a draw", certify.PercentUp(one.EmpiricalRisk.Upper), certify.PercentUp(other.EmpiricalRisk.Upper), ""},
			comparison{"KL of Q from P, nats a row", perRow(one.KL, one.N), perRow(other.KL, other.N), ""},
			comparison{"rows N", strconv.FormatInt(one.N, 10), strconv.FormatInt(other.N, 10), ""},
			comparison{"fails with probability at most", certify.PercentDeclared(one.Delta), certify.PercentDeclared(other.Delta), ""},
		)
	}
	word := func(name, one, other string) { rows = append(rows, comparison{Name: name, One: one, Other: other}) }
	word("yardstick", certify.PercentUp(a.Baseline.Bound), certify.PercentUp(b.Baseline.Bound))
	word("features", features(a), features(b))
	word("kernel", a.Kernel.Family, b.Kernel.Family)
	word("rows of the sample", strconv.FormatInt(a.Sample.Rows, 10), strconv.FormatInt(b.Sample.Rows, 10))
	word("bad rows left out", strconv.FormatInt(a.Ledger.Bad, 10), strconv.FormatInt(b.Ledger.Bad, 10))
	word("broken assumptions", broken(a), broken(b))
	word("jobs on these rows, says the maker", strconv.FormatInt(a.Declared.Attempt.OnTheseRows, 10), strconv.FormatInt(b.Declared.Attempt.OnTheseRows, 10))
	return rows
}

func bound(g certify.Guarantee) string {
	return certify.PercentUp(g.Bound) + ", " + string(g.Status)
}

// lower names the guarantee with the lower bound, "" unless both have the same promising status.
func lower(a, b certify.Guarantee) string {
	if a.Status != b.Status || a.Status == certify.StatusVacuous || a.Status == certify.StatusIndicative || a.Bound == b.Bound {
		return ""
	}
	if a.Bound < b.Bound {
		return "the first"
	}
	return "the second"
}

func perRow(nats float64, n int64) string {
	return certify.RoundUp(nats/float64(max(n, 1)), 5)
}

func features(c certify.Certificate) string {
	const shown = 12
	names := c.Features()
	words := strings.Join(names[:min(len(names), shown)], ", ")
	if more := len(names) - shown; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words
}

func broken(c certify.Certificate) string {
	var names []string
	for _, a := range c.Assumptions {
		if a.Status == certify.AssumptionBroken {
			names = append(names, string(a.ID))
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// remarksOn returns sentences on the limits of a comparison.
func remarksOn(a, b certify.Certificate) []string {
	words := []string{"Each bound holds with its own confidence. That a bound is lower does not show that the model is better: both are upper limits."}
	switch {
	case a.Sample.Digest == b.Sample.Digest:
		words = append(words, "Both are about the same rows. Whoever chooses between them after having seen these numbers needs jobs that were declared together, or rows that are new to both.")
	case len(a.Sample.Segments) == 0 || len(b.Sample.Segments) == 0:
		words = append(words, "They are about different samples. That both were drawn from the same source is in no certificate.")
	default:
		words = append(words, "They are about different windows.")
	}
	if !slices.Equal(a.Delta.Methods, b.Delta.Methods) {
		words = append(words, "They divide their confidence differently among the methods.")
	}
	return words
}
