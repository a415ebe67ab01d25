package certify

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Certify makes the certificate that follows from the evidence. Evidence that
// is incomplete, contradicts itself or holds a number out of range, NaN
// included, is an error that reports all faults.
func Certify(ev Evidence) (Certificate, error) {
	if err := ev.Validate(); err != nil {
		return Certificate{}, fmt.Errorf("certify: evidence: %w", err)
	}
	c, err := ev.record()
	if err != nil {
		return Certificate{}, fmt.Errorf("certify: evidence: %w", err)
	}
	c.Baseline.Bound, err = HoldoutBound(c.Baseline.EmpiricalRisk.Lower, ev.Ledger.of(RoleTrain), ev.Delta.Declared)
	if err != nil {
		return Certificate{}, err
	}
	c.Baseline.Statement = baselineStatement(c.Baseline, ev.Ledger)
	for _, m := range ev.Delta.applied() {
		found, err := m.guarantees(ev, m.needs, ev.Delta.Share(m.id))
		if err != nil {
			return Certificate{}, err
		}
		c.Guarantees = append(c.Guarantees, found...)
	}
	// The first line is for decisions: the best guarantee about the mean, which is deployed.
	slices.SortStableFunc(c.Guarantees, func(a, b Guarantee) int {
		return cmp.Or(cmp.Compare(predictors[a.Predictor.number()].place, predictors[b.Predictor.number()].place), cmp.Compare(a.Bound, b.Bound))
	})
	for i := range c.Guarantees {
		g := &c.Guarantees[i]
		g.Status = c.status(*g)
	}
	for i := range c.Guarantees {
		g := &c.Guarantees[i]
		g.Headline = headline(*g, c)
		g.Statement = statement(*g, c)
	}
	return c, nil
}

// status says what a guarantee is worth. It is indicative if an assumption is broken, if a column
// of the mean may have been fitted on its rows, or if an earlier look at its hold-out rows showed
// a curve. It is vacuous unless its bound, or that of one of its groups, is below 1 and below the
// baseline's; NaN is vacuous.
// It is conditional if it rests on hold-out rows or on a column of the mean: no document shows how
// these came about.
func (c Certificate) status(g Guarantee) Status {
	switch {
	case broken(c.Assumptions), c.inside() && g.Role == RoleTrain, c.Delta.Looks.ended() && g.Role == RoleHoldout:
		return StatusIndicative
	case !(g.Bound < 1 && g.Bound < c.Baseline.Bound) && !g.Groups.below(c.Baseline.Bound):
		return StatusVacuous
	case g.Role == RoleHoldout, c.Mean != nil:
		return StatusConditional
	default:
		return StatusCertified
	}
}

// record returns the part of the certificate that repeats the evidence.
func (ev Evidence) record() (Certificate, error) {
	assumptions, err := ev.assumptions()
	if err != nil {
		return Certificate{}, err
	}
	values, err := compactObject(ev.Configuration)
	if err != nil {
		return Certificate{}, fmt.Errorf("configuration: %w", err)
	}
	digest := sha256.Sum256(values)
	c := Certificate{
		Format: Format,
		Baseline: Baseline{
			Constant: ev.Constant.Value, Origin: ev.Constant.Origin,
			EmpiricalRisk: Lower{Exact: ev.Constant.Risk, Lower: ev.Constant.Risk.Lower()},
		},
		Dependence:    ev.Dependence,
		Copies:        ev.Copies,
		Mean:          ev.Mean,
		Accuracy:      Accuracy{Tau: ev.Accuracy},
		Assumptions:   assumptions,
		Ledger:        ev.Ledger,
		Sample:        ev.Sample,
		RowRules:      append([]string{}, ev.RowRules...),
		Model:         ModelFile{Digest: ev.ModelDigest},
		Configuration: Configuration{Digest: hex.EncodeToString(digest[:]), Values: values},
		Kernel:        ev.Kernel,
		Roles:         ev.Roles,
		Optimiser:     Optimiser{Seed: ev.OptimiserSeed},
		Jitter:        ev.Jitter,
		Delta:         ev.Delta,
		Declared:      ev.Declared,
	}
	for _, p := range ev.Theta {
		c.Theta = append(c.Theta, Coordinate{Parameter: p, Value: p.Value()})
	}
	return c, nil
}

// assumptions returns the evidence's assumptions together with those that
// follow from its numbers.
func (ev Evidence) assumptions() ([]Assumption, error) {
	jitter := Assumption{Status: AssumptionEnforced}
	if !ev.Jitter.Holds {
		jitter = Assumption{Status: AssumptionBroken, Diagnostic: fmt.Sprintf(
			"The error of the factor is not proven to be at most %g.", ev.Jitter.Limit)}
	}
	derived := map[AssumptionID]Assumption{
		AssumeJitter:      jitter,
		AssumeGridWeights: {Status: AssumptionEnforced}, // by Validate
		AssumeOneAttempt:  {Status: AssumptionAssumed, Diagnostic: "No program can see what was tried elsewhere. What the maker counted stands under declared. Of models judged by the same held-out rows those are counted that the log of this output has, and only if all rows are identical."},
	}
	if ev.Delta.Uses(RoleHoldout) {
		derived[AssumeHoldoutUnseen] = Assumption{Status: AssumptionAssumed, Diagnostic: "What training again takes stands under declared and in the configuration."}
		derived[AssumeHoldoutFixed] = Assumption{Status: AssumptionAssumed, Diagnostic: "Training again does not show it."}
	}
	if ev.Mean != nil {
		derived[AssumeMeanFixed] = ev.Ledger.meanFixed()
	}
	if c := ev.Copies; c.leftOut() || c.Policy == CopiesDropped && ev.Declared.Training.Ancestor != nil && ev.Delta.Uses(RoleHoldout) {
		derived[AssumeEqualRows] = Assumption{Status: AssumptionAssumed}
	}
	return completeAssumptions(ev.Assumptions, derived, ev.Ledger.Units != nil)
}

// Evidence returns the evidence that the certificate states. Nothing of it is checked.
func (c Certificate) Evidence() (Evidence, error) {
	draw, ok := c.Guarantee(GuaranteeDraw)
	if !ok {
		return Evidence{}, fmt.Errorf("there is no guarantee %q", GuaranteeDraw)
	}
	ev := Evidence{
		Loss: draw.Loss, KL: draw.KL, Tallies: Tallies{}, Delta: c.Delta, Accuracy: c.Accuracy.Tau, Kernel: c.Kernel,
		Constant:   Constant{Value: c.Baseline.Constant, Origin: c.Baseline.Origin, Risk: c.Baseline.EmpiricalRisk.Exact},
		Dependence: c.Dependence, Copies: c.Copies, Mean: c.Mean, Ledger: c.Ledger, Sample: c.Sample, RowRules: c.RowRules, ModelDigest: c.Model.Digest,
		Configuration: c.Configuration.Values, Roles: c.Roles, OptimiserSeed: c.Optimiser.Seed,
		Jitter: c.Jitter, Declared: c.Declared,
	}
	needs := c.Delta.needs()
	for _, g := range c.Guarantees {
		if key := (TallyKey{g.Predictor, g.Role}); slices.Contains(needs, key) {
			ev.Tallies[key] = new(g.tally().with(ev.Tallies[key]))
		}
		if g.Groups != nil {
			by := g.Groups.Grouping
			by.Values = slices.Clone(by.Values)
			ev.Grouping = &by
		}
	}
	for _, p := range c.Theta {
		ev.Theta = append(ev.Theta, p.Parameter)
	}
	derived := make(map[AssumptionID]bool)
	for _, s := range standardAssumptions(c.Ledger.Units != nil) {
		derived[s.id] = s.derived
	}
	for _, a := range c.Assumptions {
		if !derived[a.ID] {
			ev.Assumptions = append(ev.Assumptions, a)
		}
	}
	return ev, nil
}

// Recompute checks that every number, status and sentence of the certificate
// follows from its evidence: it certifies that evidence again and compares the documents. It
// does not check the evidence itself, which takes the model file and the rows.
func Recompute(c Certificate) error {
	ev, err := c.Evidence()
	if err != nil {
		return fmt.Errorf("certify: recompute: %w", err)
	}
	again, err := Certify(ev)
	if err != nil {
		return fmt.Errorf("certify: recompute: %w", err)
	}
	got, err := Marshal(c)
	if err != nil {
		return fmt.Errorf("certify: recompute: %w", err)
	}
	want, err := Marshal(again)
	if err != nil {
		return fmt.Errorf("certify: recompute: %w", err)
	}
	if bytes.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("certify: the certificate contradicts itself: %s", Difference(got, want))
}

// Under certifies the evidence of the certificate anew at the δ of another certificate of the same
// job, so that their bounds can be compared. A bound without its losses stays as it is, for only
// the rows could give another one.
func (c Certificate) Under(d Delta) (Certificate, error) {
	ev, err := c.Evidence()
	if err != nil {
		return Certificate{}, err
	}
	ev.Delta.Declared, ev.Delta.Sequence = d.Declared, d.Sequence
	return Certify(ev)
}
