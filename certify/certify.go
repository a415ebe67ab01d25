package certify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Names of the theorems, as they stand in a certificate.
const (
	methodDraw = "PAC-Bayes-kl inequality (Maurer 2004) with the exact sum xi(N), and a union over the declared grid of hyper-parameters; kl inverted upwards"
	methodMean = "twice the bound of pb-full: the loss is quasi-convex and the law of a draw at a row is symmetric about the mean, so that at least half of all draws lose at least as much as the mean"
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
	lnInverseWeight, err := LnInverseWeight(ev.Theta)
	if err != nil {
		return Certificate{}, err
	}
	risk := Risk{Exact: ev.Risk, Upper: ev.Risk.Upper()}
	b, err := Bound(Terms{Risk: risk.Upper, KL: ev.KL, LnInverseWeight: lnInverseWeight, N: ev.Risk.Count(), Delta: ev.Delta.Declared, Share: ev.Delta.Share()})
	if err != nil {
		return Certificate{}, err
	}
	c.Baseline.Bound, err = HoldoutBound(c.Baseline.EmpiricalRisk.Upper, ev.Risk.Count(), ev.Delta.Declared)
	if err != nil {
		return Certificate{}, err
	}
	draw := Guarantee{
		ID: GuaranteeDraw, Predictor: PredictorDraw, Method: methodDraw,
		Loss: ev.Loss, Delta: ev.Delta.Declared, N: ev.Risk.Count(), EmpiricalRisk: risk,
		KL: ev.KL, LnInverseWeight: lnInverseWeight, LnXi: b.LnXi, LnInverseDelta: b.LnInverseDelta,
		Exponent: b.Exponent, Slack: Slack,
		Bound: b.Upper, BoundPinsker: b.Pinsker, LowerBound: b.Lower,
	}
	mean := draw
	mean.ID, mean.Predictor, mean.Method = GuaranteeMean, PredictorMean, methodMean
	mean.Bound, mean.BoundPinsker, mean.LowerBound = min(1, 2*b.Upper), min(1, 2*b.Pinsker), 0
	c.Guarantees = []Guarantee{draw, mean}
	c.Baseline.Statement = baselineStatement(c.Baseline, draw, c.Assumptions)
	for i := range c.Guarantees {
		c.Guarantees[i].Status = status(c.Guarantees[i].Bound, c.Baseline.Bound, c.Assumptions)
		c.Guarantees[i].Statement = statement(c.Guarantees[i], c.Baseline, c.Assumptions)
	}
	return c, nil
}

// status says what a bound is worth. A broken assumption voids it; a bound that
// is not below 1 and below the baseline's, NaN included, says nothing.
func status(bound, baseline float64, assumptions []Assumption) string {
	if broken(assumptions) {
		return StatusIndicative
	}
	if !(bound < 1 && bound < baseline) {
		return StatusVacuous
	}
	return StatusCertified
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
			EmpiricalRisk: Risk{Exact: ev.Constant.Risk, Upper: ev.Constant.Risk.Upper()},
		},
		Assumptions:   assumptions,
		Ledger:        ev.Ledger,
		Sample:        ev.Sample,
		RowRules:      append([]string{}, ev.RowRules...),
		Model:         ModelFile{Digest: ev.ModelDigest},
		Configuration: Configuration{Digest: hex.EncodeToString(digest[:]), Values: values},
		Kernel:        ev.Kernel,
		Roles:         Roles{Key: ev.RolesKey},
		Optimiser:     Optimiser{Seed: ev.OptimiserSeed},
		Jitter:        ev.Jitter,
		Delta:         ev.Delta,
		Attempt:       ev.Attempt,
		Software:      ev.Software,
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
	if !(ev.Jitter.Bound <= ev.Jitter.Limit) { // NaN breaks it
		jitter = Assumption{Status: AssumptionBroken, Diagnostic: fmt.Sprintf(
			"The error of the factor is bounded by %g only, the limit is %g.", ev.Jitter.Bound, ev.Jitter.Limit)}
	}
	return completeAssumptions(ev.Assumptions, map[string]Assumption{
		AssumeJitter:      jitter,
		AssumeGridWeights: {Status: AssumptionEnforced}, // Validate checks it
		AssumeOneAttempt: {Status: AssumptionAssumed, Diagnostic: fmt.Sprintf(
			"Of the jobs of this output directory it is number %d on this sample, and number %d in all; other directories are not seen.", ev.Attempt.OnThisSample, ev.Attempt.InThisDirectory)},
	})
}

// evidence returns the evidence that the certificate repeats.
func (c Certificate) evidence() (Evidence, error) {
	draw, ok := c.Guarantee(GuaranteeDraw)
	if !ok {
		return Evidence{}, fmt.Errorf("there is no guarantee %q", GuaranteeDraw)
	}
	ev := Evidence{
		Loss: draw.Loss, Delta: c.Delta, Risk: draw.EmpiricalRisk.Exact, KL: draw.KL, Kernel: c.Kernel,
		Constant: Constant{Value: c.Baseline.Constant, Origin: c.Baseline.Origin, Risk: c.Baseline.EmpiricalRisk.Exact},
		Ledger:   c.Ledger, Sample: c.Sample, RowRules: c.RowRules, ModelDigest: c.Model.Digest,
		Configuration: c.Configuration.Values, RolesKey: c.Roles.Key, OptimiserSeed: c.Optimiser.Seed,
		Jitter: c.Jitter, Attempt: c.Attempt, Software: c.Software,
	}
	for _, p := range c.Theta {
		ev.Theta = append(ev.Theta, p.Parameter)
	}
	derived := make(map[string]bool)
	for _, s := range standardAssumptions() {
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
// follows from the evidence that stands in it: it certifies that evidence anew
// and compares the documents. It does not check the evidence itself, which
// takes the model file and the rows.
func Recompute(c Certificate) error {
	ev, err := c.evidence()
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
	var a, b any
	if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal(want, &b)); err != nil {
		return fmt.Errorf("certify: recompute: %w", err)
	}
	return fmt.Errorf("certify: the certificate contradicts itself: %s", difference("", a, b))
}
