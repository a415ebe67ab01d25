package certify

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Certify makes the certificate that follows from the evidence. Evidence that is incomplete, contradicts itself
// or holds a number out of range, NaN included, is an error that reports all faults. Of each loss sum, the
// certificate contains only what its claims show.
func Certify(ev Evidence) (Certificate, error) {
	if err := ev.Validate(); err != nil {
		return Certificate{}, fmt.Errorf("certify: evidence: %w", err)
	}
	c := Certificate{Format: Format, Assumptions: ev.assumptions(), Warnings: ev.warnings(), Evidence: ev}
	baseline, err := HoldoutBound(ev.Constant.Risk.Lower(), ev.Counts.Of(SubsetTraining), ev.Delta.Declared)
	if err != nil {
		return Certificate{}, err
	}
	c.LossSums = LossSums{}
	for _, m := range ev.Delta.applied() {
		found, err := m.claims(ev, m.needs, ev.Delta.Share(m.id))
		if err != nil {
			return Certificate{}, err
		}
		c.LossSums[m.needs] = new(found[0].shown.with(c.LossSums[m.needs]))
		c.Claims = append(c.Claims, found...)
	}
	for i := range c.Claims {
		g := &c.Claims[i]
		if g.LnInverseDelta, err = lnInverseDelta(g.Delta, g.share); err != nil {
			return Certificate{}, err
		}
		g.Baseline, g.shown, g.share = baseline, LossSum{}, Share{}
		g.Status = ev.status(*g)
	}
	// The first claim is the one to decide by: the least bound on predictions. Claims about draws come last.
	slices.SortStableFunc(c.Claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(slices.Index(predictors, b.Predictor), slices.Index(predictors, a.Predictor)), cmp.Compare(a.Bound, b.Bound))
	})
	return c, nil
}

// status returns the status of a claim. A claim that is not void is vacuous unless its bound, or that of one of
// its groups, is below 1 and below the baseline; NaN is vacuous. For a curve under [AnyTolerance] the width of
// its interval decides instead.
func (ev Evidence) status(g Claim) Status {
	useful := func(bound float64) bool { return bound < 1 && bound < g.Baseline }
	switch {
	case !ev.Model.Jitter.Holds || ev.inside() && g.Subset == SubsetTraining || ev.Delta.Reuse.ended() && g.Subset == SubsetHoldout: // an assumption is known to fail
		return StatusVoid
	case g.Curve != nil && ev.Loss.Tolerance == AnyTolerance:
		if within, ok := g.Curve.Within(CurveShare); ok && within < ev.Constant.HalfWidth {
			return StatusCertified
		}
		return StatusVacuous
	case useful(g.Bound), slices.ContainsFunc(g.Groups, func(group Group) bool { return useful(group.Bound) }):
		return StatusCertified
	default:
		return StatusVacuous
	}
}

// State returns the settings of a job, given as a JSON object, with their digest.
func State(values []byte) (Configuration, error) {
	compact, err := compactObject(values)
	if err != nil {
		return Configuration{}, fmt.Errorf("certify: job: %w", err)
	}
	digest := sha256.Sum256(compact)
	return Configuration{Digest: hex.EncodeToString(digest[:]), Values: compact}, nil
}

// Recompute checks that claims, assumptions and warnings follow from the certificate's evidence. It does not
// check the evidence itself, which needs the model file and the rows.
func Recompute(c Certificate) error {
	again, err := Certify(c.Evidence)
	if err != nil {
		return fmt.Errorf("certify: the evidence gives no certificate: %w", err)
	}
	if err := Same(c, again); err != nil {
		return fmt.Errorf("certify: the certificate contradicts itself: %w", err)
	}
	return nil
}

// Same returns an error that names the first difference unless two certificates, the stated one and one that
// was made again, are equal.
func Same(stated, again Certificate) error {
	got, err := Marshal(stated)
	if err != nil {
		return err
	}
	want, err := Marshal(again)
	if err != nil {
		return err
	}
	if bytes.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("%s", Difference(got, want))
}

// Under returns the certificate for the same evidence with the declared δ and the sequence of d. With those of
// another certificate of the same job, the bounds of the two can be compared. A bound that is shown without its
// losses stays as it is, because only the rows could give another one.
func (c Certificate) Under(d Delta) (Certificate, error) {
	ev := c.Evidence
	ev.Delta.Declared, ev.Delta.Sequence = d.Declared, d.Sequence
	return Certify(ev)
}
