package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model/loss"
)

// ErrRefused says that a certificate does not hold for the model or the rows
// that it was checked against.
var ErrRefused = errors.New("refused")

// A Verification is what a check of a certificate found in order.
type Verification struct {
	Evidence bool     // whether the rows were read again, or only the arithmetic checked
	Checked  []string // one line each, for people
}

func (v *Verification) note(format string, args ...any) {
	v.Checked = append(v.Checked, fmt.Sprintf(format, args...))
}

// OpenData opens the data that a certificate is checked against, with these
// features (nil: every numeric column but the excluded ones) and the target.
type OpenData func(ctx context.Context, features, exclude []string, target string) (Source, error)

// Verify checks a certificate against its model, whose stored bytes have the
// given SHA-256, and against the rows if open is not nil. An error that wraps
// [ErrRefused] says what does not agree.
func Verify(ctx context.Context, c certify.Certificate, m Model, modelDigest string,
	open OpenData, workers int,
) (*Verification, error) {
	v := &Verification{}
	job, err := v.files(c, m, modelDigest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if open == nil {
		return v, nil
	}
	src, err := open(ctx, m.Meta.featureNames(), nil, m.Meta.Target.Name)
	if err != nil {
		return nil, err
	}
	n := rowsOf(src)
	if n != c.Sample.Rows {
		return nil, fmt.Errorf("%w: the data have %d rows, the certificate speaks of %d", ErrRefused, n, c.Sample.Rows)
	}
	roles := NewRoles(c.Roles.Key, n, job.Scaling.Mode == ScalingDeclared, workers)
	found, err := examine(ctx, src, m, roles, c.Baseline.Constant, workers)
	if err != nil {
		return nil, err
	}
	if err := v.rows(c, m, job, found); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := v.features(ctx, m, job, open, workers); err != nil {
		return nil, err
	}
	if err := v.centre(ctx, src, c, job, workers); err != nil {
		return nil, err
	}
	v.Evidence = true
	return v, nil
}

// files checks what follows from model and certificate alone.
func (v *Verification) files(c certify.Certificate, m Model, modelDigest string) (Job, error) {
	var job Job
	if err := certify.Recompute(c); err != nil {
		return job, err
	}
	v.note("every number and sentence of the certificate follows from its evidence")
	if c.Model.Digest != modelDigest {
		return job, fmt.Errorf("the certificate is for the model file with SHA-256 %s, this one has %s", c.Model.Digest, modelDigest)
	}
	v.note("the model file is the one that the certificate names")
	draw, _ := c.Guarantee(certify.GuaranteeDraw)
	kl, err := certify.GaussianKL(m.Posterior.Mean, m.Posterior.Factor, m.Posterior.Inducing())
	if err != nil {
		return job, err
	}
	if kl != draw.KL {
		return job, fmt.Errorf("the model has KL %v, the certificate says %v", kl, draw.KL)
	}
	if err := sameModel(c, m, draw); err != nil {
		return job, err
	}
	bound, limit, err := m.Posterior.JitterCheck()
	if err != nil {
		return job, err
	}
	if c.Jitter.Bound <= c.Jitter.Limit && !(bound <= limit) { // where the certificate says so itself, it is indicative
		return job, fmt.Errorf("the jitter condition fails: the factor's error is bounded by %v only, the limit is %v", bound, limit)
	}
	// Between instruction sets the bound differs by roundings of its own size.
	if stated := c.Jitter; !(bound <= 2*stated.Bound && stated.Bound <= 2*bound && stated.Limit == limit) {
		return job, fmt.Errorf("the jitter check gives a bound of %v and a limit of %v, the certificate says %v and %v", bound, limit, stated.Bound, stated.Limit)
	}
	v.note("KL, hyper-parameters and jitter condition follow from the model's stored numbers")
	if job, err = statedJob(c.Configuration); err != nil {
		return job, err
	}
	if err := sameJob(c, m.Meta, job); err != nil {
		return job, err
	}
	return job, sameAssumptions(c, job, nil)
}

// statedJob reads the job of a certificate. It must be one that could have been
// run, in the form that a run gives it: every key known, once, with its
// defaults filled in.
func statedJob(stated certify.Configuration) (Job, error) {
	var job Job
	decoder := json.NewDecoder(bytes.NewReader(stated.Values))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&job); err != nil {
		return job, fmt.Errorf("configuration: %w", err)
	}
	job, err := job.WithDefaults()
	if err != nil {
		return job, fmt.Errorf("configuration: %w", err)
	}
	digest, err := job.Digest()
	if err != nil {
		return job, err
	}
	if digest.String() != stated.Digest {
		return job, errors.New("the configuration is not in the form that a run gives it")
	}
	if len(job.Sweep) > 0 {
		if job.Number == 0 {
			return job, errors.New("the configuration does not say which alternative of its sweep this is")
		}
		job = job.alternative(job.Number)
	}
	return job, nil
}

// sameModel compares what certificate and model both say.
func sameModel(c certify.Certificate, m Model, draw certify.Guarantee) error {
	if err := checkTheta(m); err != nil {
		return err
	}
	meta := m.Meta
	theta := make([]certify.Parameter, len(c.Theta))
	for i, t := range c.Theta {
		theta[i] = t.Parameter
	}
	l := draw.Loss
	spec := LossSpec{Kind: l.Kind, Epsilon: l.Epsilon, Below: l.Below, Above: l.Above}
	for _, check := range []struct {
		what string
		same bool
	}{
		{"hyper-parameters", slices.Equal(theta, meta.Theta)},
		{"kernel", c.Kernel == certify.Kernel{Family: meta.Kernel, ARD: meta.ARD}},
		{"columns", slices.Equal(c.Sample.Columns, append(meta.featureNames(), meta.Target.Name))},
		{"loss", spec == meta.Loss},
		{"row rules", slices.Equal(c.RowRules, meta.RowRules)},
	} {
		if !check.same {
			return fmt.Errorf("model and certificate differ in %s", check.what)
		}
	}
	return nil
}

// sameJob compares what the certificate says with its own configuration.
func sameJob(c certify.Certificate, meta ModelMeta, job Job) error {
	draw, _ := c.Guarantee(certify.GuaranteeDraw)
	epsilon := job.Loss.Epsilon
	if job.Loss.EpsilonStd != 0 {
		epsilon = job.Loss.EpsilonStd * meta.Target.Scale
	}
	reference := ReferenceCount(c.Ledger.Rows)
	if job.Scaling.Mode == ScalingDeclared {
		reference = 0
	}
	for _, check := range []struct {
		what string
		same bool
	}{
		{"delta", job.Spends() == c.Delta},
		{"the kernel", job.Kernel.Isotropic == !c.Kernel.ARD},
		{"the features", job.Features == nil || slices.Equal(job.Features, meta.featureNames())},
		{"the tolerance", epsilon == draw.Loss.Epsilon && job.Loss.Below == draw.Loss.Below && job.Loss.Above == draw.Loss.Above},
		{"the loss", job.Loss.Kind == draw.Loss.Kind && job.Loss.Unit == draw.Loss.Unit},
		{"the target", job.Target == meta.Target.Name},
		{"the key of the roles", job.Roles.Key == c.Roles.Key},
		{"the number of reference rows", reference == c.Ledger.Reference},
		{"the optimiser's seed", job.Train.Seed == c.Optimiser.Seed},
		{"the origin of the baseline's constant", (reference == 0) == (c.Baseline.Origin == certify.OriginDeclared)},
		{"the grid", sameGrid(job, c)},
		{"declared scaling constants", sameScaling(job, meta)},
	} {
		if !check.same {
			return fmt.Errorf("the certificate contradicts its configuration in %s", check.what)
		}
	}
	return nil
}

// sameAssumptions demands the assumptions, with statuses and diagnostics, that
// the job leads to. Which diagnostic the rows give is known if found is.
func sameAssumptions(c certify.Certificate, job Job, found *examination) error {
	var n Neighbours
	if found != nil {
		n = found.Neighbour
	}
	stated := map[string]certify.Assumption{}
	for _, a := range c.Assumptions {
		stated[a.ID] = a
	}
	for _, derived := range []string{certify.AssumeJitter, certify.AssumeGridWeights, certify.AssumeOneAttempt} {
		delete(stated, derived) // certify.Recompute has checked them
	}
	for _, want := range assumptions(job, n) {
		got := stated[want.ID]
		delete(stated, want.ID)
		if got.Status != want.Status {
			return fmt.Errorf("the job leaves the assumption %q %s, the certificate says %s", want.ID, want.Status, got.Status)
		}
		if want.ID == certify.AssumeIndependentRows && found == nil {
			continue
		}
		if got.Diagnostic != want.Diagnostic {
			return fmt.Errorf("the diagnostic of the assumption %q is %q, the certificate says %q", want.ID, want.Diagnostic, got.Diagnostic)
		}
	}
	for id := range stated {
		return fmt.Errorf("the assumption %q is none that the job leads to", id)
	}
	return nil
}

func sameGrid(job Job, c certify.Certificate) bool {
	want := job.Grid.flat()
	for _, t := range c.Theta {
		g := t.Grid
		if job.Grid.Prior == certify.PriorPeaked {
			want.Prior, want.Centre, want.Width = certify.PriorPeaked, g.Centre, job.Grid.Width
		}
		if g != want {
			return false
		}
	}
	return true
}

func sameScaling(job Job, meta ModelMeta) bool {
	if job.Scaling.Mode != ScalingDeclared {
		return true
	}
	same := func(a, b Affine) bool { return a.Centre == b.Centre && a.Scale == b.Scale }
	for _, f := range meta.Features {
		if declared, ok := job.Scaling.Features[f.Name]; !ok || !same(declared, f) {
			return false
		}
	}
	return job.Scaling.Target != nil && same(*job.Scaling.Target, meta.Target)
}

// riskAgreement is how far the recomputed empirical risks may be from the
// stated ones: nothing on the same instruction set, a few roundings on another.
// It is a hundredth of the slack, which covers it.
const riskAgreement = certify.Slack / 100

func agreement(exactly bool) float64 {
	if exactly {
		return 0
	}
	return riskAgreement
}

// rows checks what follows from the rows.
func (v *Verification) rows(c certify.Certificate, m Model, job Job, found *examination) error {
	if found.Digest.String() != c.Sample.Digest {
		return fmt.Errorf("the data have the sample digest %s, the certificate says %s: not the same rows in the same order and row groups", found.Digest, c.Sample.Digest)
	}
	if found.Targets.String() != c.Sample.Targets {
		return fmt.Errorf("the targets have the digest %s, the certificate says %s", found.Targets, c.Sample.Targets)
	}
	v.note("the data are the sample: %d rows in %d shards, digest %.12s…", found.Rows, found.Shards, c.Sample.Digest)
	if int64(found.Shards) != c.Sample.Shards || found.Train != c.Ledger.Train {
		return fmt.Errorf("the data have %d shards and %d train rows, the certificate says %d and %d", found.Shards, found.Train, c.Sample.Shards, c.Ledger.Train)
	}
	if err := found.checkScaling(job, m.Meta, c.Baseline.Constant); err != nil {
		return err
	}
	v.note("roles, scaling and baseline follow from the key and the reference rows")
	if err := sameAssumptions(c, job, found); err != nil {
		return err
	}
	v.note("assumptions have the status that the job leaves them, and the diagnostic of the rows")
	if _, err := checkNumbers(m, found); err != nil {
		return err
	}
	draw, _ := c.Guarantee(certify.GuaranteeDraw)
	// A constant that is a miss or is none takes no rounded arithmetic.
	exactly := m.Meta.Loss.Kind == loss.ZeroOne || m.Meta.Loss.Kind == loss.Band
	for _, risk := range []struct {
		what          string
		found, stated certify.RiskSum
		agreement     float64
	}{
		{"a draw of Q", found.Risk, draw.EmpiricalRisk.Exact, riskAgreement},
		{"the constant", found.Baseline, c.Baseline.EmpiricalRisk.Exact, agreement(exactly)},
	} {
		off := math.Abs(risk.found.Upper() - risk.stated.Upper())
		switch {
		case risk.found == risk.stated:
			v.note("the empirical risk of %s is the same to the last bit: %.6f", risk.what, risk.stated.Upper())
		case risk.agreement > 0 && off <= risk.agreement:
			v.note("the empirical risk of %s agrees within %.1g, as between instruction sets: %.6f", risk.what, off, risk.stated.Upper())
		default:
			return fmt.Errorf("the empirical risk of %s is %v on these rows, the certificate says %v", risk.what, risk.found.Upper(), risk.stated.Upper())
		}
	}
	return nil
}

// features checks that default features are all that the data offer, but for
// columns that are constant on the reference rows.
func (v *Verification) features(ctx context.Context, m Model, job Job, open OpenData, workers int) error {
	if job.Features != nil {
		return nil
	}
	src, err := open(ctx, nil, job.Exclude, m.Meta.Target.Name)
	if err != nil {
		return err
	}
	if sameColumns(src.Columns(), m.Meta) != nil {
		s, err := survey(ctx, src, job, workers)
		if err != nil {
			return err
		}
		if !slices.Equal(s.Features, m.Meta.Features) {
			return fmt.Errorf("%w: the job takes every numeric column that is not constant on the reference rows; the model has other features", ErrRefused)
		}
	}
	v.note("the features are those that the job's rule gives on these data")
	return nil
}

// centreAgreement is how far the estimate behind a peaked prior may be from its
// stated centre, in natural logarithms: it is an optimisation, and instruction
// sets differ in its last digits.
const centreAgreement = 0.01

// centre checks that a peaked prior stands where the reference rows put it.
func (v *Verification) centre(ctx context.Context, src Source, c certify.Certificate, job Job, workers int) error {
	if job.Grid.Prior != certify.PriorPeaked {
		return nil
	}
	s, err := survey(ctx, src, job, workers)
	if err != nil {
		return err
	}
	centres, err := estimate(job, s, workers)
	if err != nil {
		return err
	}
	if len(centres) != len(c.Theta) {
		return fmt.Errorf("%w: the job has %d hyper-parameters, the certificate %d", ErrRefused, len(centres), len(c.Theta))
	}
	for i, at := range centres {
		stated := c.Theta[i].Grid
		least, most := job.Grid.peaked(at-centreAgreement).Centre, job.Grid.peaked(at+centreAgreement).Centre
		if stated.Centre < least || stated.Centre > most {
			return fmt.Errorf("%w: the reference rows put the peak of %q at %.4f, the certificate at %v",
				ErrRefused, c.Theta[i].Name, at, stated.Value(stated.Centre))
		}
	}
	v.note("the peaks of the grid's weights are where the reference rows put them")
	return nil
}
