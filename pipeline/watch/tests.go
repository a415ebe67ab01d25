package watch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Promotion is the rule by which a certificate with the required guarantee becomes current.
type Promotion struct {
	// Within is the largest share by which its bound may exceed that of the current certificate, with both computed at
	// the δ of the current one. With 0 any bound is enough.
	Within float64
}

// A Decision says whether a certificate becomes current, and why.
type Decision struct {
	Moves bool
	Kept  bool // the current one stays because the bound of the next is too large, which is no fault
	Why   string
}

// Decide returns whether next replaces the current certificate, by the claim about the predictor who.
func (p Promotion) Decide(current, next certify.Certificate, who certify.Predictor) (Decision, error) {
	if why := pipeline.Incomparable(current, next); why != "" {
		return Decision{Why: "it cannot be compared with the current one: " + why}, nil
	}
	has := next.Features()
	lost := slices.DeleteFunc(slices.Clone(current.Features()), func(name string) bool { return slices.Contains(has, name) })
	if len(lost) > 0 {
		return Decision{Why: fmt.Sprintf("it lacks features of the current one, %s, which are constant or missing in its rows", strings.Join(lost, ", "))}, nil
	}
	old, before := pipeline.Worth(current, who)
	if p.Within == 0 {
		return Decision{Moves: true, Why: "before: at most " + before}, nil
	}
	same, err := next.Under(current.Delta)
	if err != nil {
		return Decision{}, err
	}
	bound, its := pipeline.Worth(same, who)
	if own, said := pipeline.Worth(next, who); own != bound { // run k spends less than run 1
		its += " with the confidence of the current one (" + said + " with its own)"
	}
	if !(bound <= (1+p.Within)*old) {
		return Decision{Kept: true, Why: fmt.Sprintf("its bound, %s, is more than %g %% above that of the current one, %s", its, 100*p.Within, before)}, nil
	}
	return Decision{Moves: true, Why: fmt.Sprintf("its bound, %s, is within %g %% of that of the one before, %s", its, 100*p.Within, before)}, nil
}
