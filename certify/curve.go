package certify

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"sort"
)

// curve bounds how often predictions are off by more than a tolerance, at every tolerance at once, under the
// assumptions of holdout. So prediction ± tolerance covers a new row with a probability of at least 1 less the
// bound (docs/explanation/theory.md, 19). The claim's Bound is that at the loss's own tolerance.
func curve() method {
	return method{id: MethodCurve, needs: LossKey{PredictorMean, SubsetHoldout}, claims: func(ev Evidence, needs LossKey, share Share) ([]Claim, error) {
		t := ev.LossSums.Of(needs.Predictor, needs.Subset)
		g := ev.claim(needs, ClaimCurve, LossSum{Risk: t.Risk.whole()}, share)
		g.Bound = 1
		part, err := partDown(ev.Delta.Declared, share)
		if err != nil {
			return nil, err
		}
		if ev.Delta.Reuse.ended() {
			part = 0
		}
		b := newBand(g.N, part)
		g.Curve = &Curve{Level: b.level, Steps: []Step{}}
		beyond, last := t.Beyond, g.N
		if beyond == nil {
			return nil, errors.New("certify: a curve without counts of errors")
		}
		for i, k := range beyond {
			if limit := b.limit(k); k < last && limit < 1 {
				g.Curve.Steps = append(g.Curve.Steps, Step{Tolerance: curveTolerance(ev.Loss.Epsilon, i), Misses: k, Bound: limit})
			}
			last = k
		}
		if at, ok := g.Curve.At(ev.Loss.Epsilon); ok {
			g.Bound = at.Bound
		}
		g.shown.Beyond = g.Curve.beyond(g.N, ev.Loss.Epsilon)
		return []Claim{g}, nil
	}}
}

// CurveUpper returns a curve's bound at a tolerance that k of n held-out rows are not within.
func CurveUpper(k, n int64, delta float64, share Share) (float64, error) {
	part, err := partDown(delta, share)
	if err != nil {
		return 0, err
	}
	return newBand(n, part).limit(k), nil
}

// A Curve bounds, at every tolerance at once, the probability that the prediction of a new row is off by more.
type Curve struct {
	Level float64 `json:"level"` // local level of Clopper and Pearson's limits; 0 if no bound is below 1
	Steps []Step  `json:"steps"` // by rising tolerances; below the first one's the bound is 1
}

// A Step holds from its tolerance up to that of the next step.
type Step struct {
	Tolerance float64 `json:"tolerance"` // in raw units of the target
	Misses    int64   `json:"misses"`    // held-out rows whose error is not proven to be within it
	Bound     float64 `json:"bound"`     // upper bound on the probability that a new row is off by more
}

// At returns the step that holds at a tolerance. ok is false below the tolerance of the first step.
func (c *Curve) At(tolerance float64) (at Step, ok bool) {
	for _, s := range c.Steps {
		if s.Tolerance <= tolerance {
			at, ok = s, true
		}
	}
	return at, ok
}

// Within returns the least tolerance for which prediction ± tolerance covers at least a share of all new rows.
// ok is false if the curve has none, or is nil.
func (c *Curve) Within(share float64) (tolerance float64, ok bool) {
	if c == nil {
		return 0, false
	}
	for _, s := range c.Steps {
		if covers(s.Bound, share) {
			return s.Tolerance, true
		}
	}
	return 0, false
}

// Interval returns the narrowest interval from prediction − below to prediction + above that covers at least a
// share of new rows by a claim, and that claim. The claim is a curve, or one at the loss's tolerance. ok is
// false if no claim covers the share. Void claims do not count; vacuous ones do, because they hold although
// they are no better than a constant.
func (c Certificate) Interval(share float64) (below, above float64, by Claim, ok bool) {
	for _, g := range c.Claims {
		if g.Predictor != PredictorMean || g.Status == StatusVoid {
			continue
		}
		down, found := g.Curve.Within(share)
		up := down
		if !found && covers(g.Bound, share) {
			switch found = true; c.Loss.Kind {
			case LossZeroOne:
				down, up = c.Loss.Epsilon, c.Loss.Epsilon
			case LossBand:
				down, up = c.Loss.Above, c.Loss.Below
			default:
				found = false
			}
		}
		if found && (!ok || down+up < below+above) {
			below, above, by, ok = down, up, g, true
		}
	}
	return below, above, by, ok
}

// covers reports whether 1 − bound is no less than the decimal number share.
func covers(bound, share float64) bool {
	part, err := decimal(share)
	return err == nil && part.Add(part, new(big.Rat).SetFloat64(bound)).Cmp(big.NewRat(1, 1)) <= 0
}

// A [LossSum] counts errors at 512 tolerances: for each k = −10 … 5, perTwo tolerances that are evenly spaced
// from ε·2^k up to ε·2^(k+1), which is left out.
const (
	curveTolerances = 512
	perTwo          = 32
	toleranceOwn    = 10 * perTwo // the index of ε itself
	mostTolerance   = 0x1p900     // the largest ε, and the inverse of the least, so that all tolerances are normal numbers
)

// curveTolerance returns the tolerance of index i, in the units of epsilon.
func curveTolerance(epsilon float64, i int) float64 {
	return math.Ldexp(epsilon, i/perTwo-10) * (1 + float64(i%perTwo)/perTwo)
}

// AddError counts a row at each tolerance that its error may exceed. within is an upper bound on the error, in the
// units of epsilon; NaN and +Inf exceed every tolerance. At epsilon itself the row counts if and only if it is lost.
func (t *LossSum) AddError(within, epsilon float64, lost bool) {
	if t.Beyond == nil {
		t.Beyond = make([]int64, curveTolerances)
	}
	first := sort.Search(curveTolerances, func(i int) bool { return within <= curveTolerance(epsilon, i) })
	if lost {
		first = max(first, toleranceOwn+1)
	} else {
		first = min(first, toleranceOwn)
	}
	for i := range t.Beyond[:first] {
		t.Beyond[i]++
	}
}

// validateBeyond reports faults of the counts of errors, if there are any.
func (t *LossSum) validateBeyond(n int64, ev Evidence) error {
	if t.Beyond == nil {
		return nil
	}
	loss := ev.Loss
	if loss.Kind != LossZeroOne || !(1/mostTolerance <= loss.Epsilon && loss.Epsilon <= mostTolerance) {
		return fmt.Errorf("a curve of a %s loss with a tolerance of %g: it takes %s and a tolerance from %g to %g", loss.Kind, loss.Epsilon, LossZeroOne, 1/mostTolerance, mostTolerance)
	}
	last := n
	for _, k := range t.Beyond {
		if k < 0 || k > last {
			return errors.New("the counts of errors do not fall with the tolerance")
		}
		last = k
	}
	// A document has no counts below the first step of its curve: there all n rows count.
	if own := t.Beyond[toleranceOwn]; own != n && own != t.Risk.ones() {
		return fmt.Errorf("%d rows are lost, and %d are off by more than the tolerance", t.Risk.ones(), own)
	}
	return nil
}

// beyond returns the counts of a loss sum of n rows that the steps state, one for each tolerance.
func (c *Curve) beyond(n int64, epsilon float64) []int64 {
	all := make([]int64, curveTolerances)
	for i := range all {
		all[i] = n
		if at, ok := c.At(curveTolerance(epsilon, i)); ok {
			all[i] = at.Misses
		}
	}
	return all
}
