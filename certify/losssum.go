package certify

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// Predictors and subsets, in the order of files.
var (
	predictors = []Predictor{PredictorDraw, PredictorMean, PredictorConstant, PredictorColumn, PredictorAround}
	subsets    = []Subset{SubsetTraining, SubsetHoldout}
)

// A LossKey names the predictor and the subset of rows of a loss sum.
type LossKey struct {
	Predictor Predictor
	Subset    Subset
}

// MarshalText writes the key for messages about a map of loss sums.
func (k LossKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s on %s rows", k.Predictor, k.Subset), nil
}

// A LossSum holds the exact sum of one predictor's losses on the rows of one subset, and what some bounds need
// in addition. Loss sums of different rows merge.
type LossSum struct {
	Risk     RiskSum // sum of upper bounds on the losses, one for each row; of lower bounds for [PredictorConstant]
	Unproven int64   // rows whose loss counts as 1, because no smaller bound on it was proven
	Spread   *Spread // histogram of the losses; nil if bounds need only their sum
	Beyond   []int64 // for [MethodCurve]: at each tolerance, the rows not proven to be within it; else nil
	Groups   []Group // for [MethodGroups]: counts of each group, without bounds; else nil
	Bound    float64 // the bound in a document that shows neither sum nor spread; else 0
}

// AddSpread adds the loss of one row to the sum and to the spread.
func (t *LossSum) AddSpread(loss float64) error {
	if t.Spread == nil {
		t.Spread = &Spread{}
	}
	return errors.Join(t.Risk.Add(loss), t.Spread.Add(loss))
}

// Merge adds the rows of other. More than 2⁶³−1 examples are an error.
func (t *LossSum) Merge(other LossSum) error {
	t.Unproven += other.Unproven
	if other.Spread != nil {
		if t.Spread == nil {
			t.Spread = &Spread{}
		}
		for i, parts := range other.Spread {
			t.Spread[i] += parts
		}
	}
	if t.Beyond == nil && other.Beyond != nil {
		t.Beyond = make([]int64, curveTolerances)
	}
	for i, n := range other.Beyond {
		t.Beyond[i] += n
	}
	if t.Groups == nil && other.Groups != nil {
		t.Groups = make([]Group, len(other.Groups))
	}
	if len(other.Groups) > len(t.Groups) {
		return fmt.Errorf("certify: rows of %d and %d groups", len(t.Groups), len(other.Groups))
	}
	for i, g := range other.Groups {
		t.Groups[i].N += g.N
		t.Groups[i].Misses += g.Misses
	}
	return t.Risk.Merge(other.Risk)
}

// clone returns a deep copy.
func (t *LossSum) clone() *LossSum {
	own := *t
	if t.Spread != nil {
		own.Spread = new(*t.Spread)
	}
	own.Beyond, own.Groups = slices.Clone(t.Beyond), slices.Clone(t.Groups)
	return &own
}

// validate reports all faults of the losses on n rows.
func (t *LossSum) validate(n int64, ev Evidence) error {
	faults := faultList{t.Risk.validate()}
	faults.when(n < 1 || t.Risk.Count() != n, "losses of %d rows, for %d rows: each needs exactly one", t.Risk.Count(), n)
	if t.Spread != nil {
		faults.add(t.Spread.validate(n))
	}
	if u := ev.Counts.Units; t.Unproven < 0 || u == nil && (t.Unproven > n || t.Risk.total().Cmp(new(big.Int).Lsh(big.NewInt(max(0, t.Unproven)), 60)) < 0) {
		faults.add(fmt.Errorf("%d of %d rows are counted as a loss of 1, but the sum of the losses is smaller", t.Unproven, n))
	}
	faults.add(t.validateBeyond(n, ev), t.validateGroups(n, ev))
	if err := faults.err(); err != nil {
		return err
	}
	return Terms{Risk: t.Risk.Upper(), KL: max(ev.Model.KL, ev.Model.KLAround), N: n, Delta: ev.Delta.Declared}.validate()
}

// claim returns a claim without a bound, which shows a loss sum and spends a share of δ.
func (ev Evidence) claim(key LossKey, id ClaimID, shown LossSum, share Share) Claim {
	g := Claim{ID: id, Predictor: key.Predictor, Subset: key.Subset, Delta: ev.Delta.Declared, N: shown.Risk.Count(), Risk: new(shown.Risk.Upper()), shown: shown, share: share}
	if key.Subset == SubsetHoldout && ev.Loss.Kind.Counts() && ev.Counts.Units == nil {
		g.Misses = new(shown.Risk.ones())
	}
	return g
}

// with returns t with the counts by tolerance and by group that only other has, a loss sum of the same rows or nil.
func (t LossSum) with(other *LossSum) LossSum {
	if other != nil && t.Beyond == nil {
		t.Beyond = other.Beyond
	}
	if other != nil && t.Groups == nil {
		t.Groups = other.Groups
	}
	return t
}

// LossSums are the loss sums of a pass over rows.
type LossSums map[LossKey]*LossSum

// Of returns the loss sum of a predictor on the rows of a subset, or an empty one.
func (all LossSums) Of(predictor Predictor, subset Subset) LossSum {
	if t := all[LossKey{predictor, subset}]; t != nil {
		return *t
	}
	return LossSum{}
}

// At returns the loss sum of a predictor on the rows of a subset, for additions. It makes a missing one.
func (all LossSums) At(predictor Predictor, subset Subset) *LossSum {
	key := LossKey{predictor, subset}
	if all[key] == nil {
		all[key] = &LossSum{}
	}
	return all[key]
}

// Merge adds the rows of other. More than 2⁶³−1 examples are an error.
func (all LossSums) Merge(other LossSums) error {
	for key, t := range other {
		if err := all.At(key.Predictor, key.Subset).Merge(*t); err != nil {
			return err
		}
	}
	return nil
}

// Clone returns a deep copy.
func (all LossSums) Clone() LossSums {
	own := make(LossSums, len(all))
	for key, t := range all {
		own[key] = t.clone()
	}
	return own
}

// For returns a copy of the loss sums that a certificate's methods need.
func (all LossSums) For(d Delta) LossSums {
	own := LossSums{}
	for _, key := range d.needs() {
		t := all.Of(key.Predictor, key.Subset)
		own[key] = t.clone()
	}
	return own
}
