package certify

import (
	"errors"
	"fmt"
	"math"
	"regexp"
)

// Evidence is what a certificate is made from: plain numbers about one fitted model and one pass
// over the rows of its dataset.
type Evidence struct {
	Loss       TargetLoss    `json:"loss"`
	Delta      Delta         `json:"delta"`    // no default: the user says it
	LossSums   LossSums      `json:"losses"`   // what the methods of Delta need: see [LossSums.For]
	Constant   Constant      `json:"baseline"` // the best constant prediction
	Counts     Counts        `json:"counts"`
	Sample     Sample        `json:"dataset"`
	Duplicates Duplicates    `json:"duplicates"`
	Dependence Series        `json:"dependence"`       // of the targets of prior and training rows, in their order
	Mean       *Mean         `json:"mean,omitempty"`   // nil: the prior's mean function is a constant
	Grouping   *Grouping     `json:"groups,omitempty"` // of the method groups; nil without it
	Model      Facts         `json:"model"`
	Job        Configuration `json:"job"` // from [State]
	Publisher  Declared      `json:"publisher"`
}

// A Constant is the constant prediction that claims are compared with.
type Constant struct {
	Value  float64 `json:"constant"` // raw
	Origin Origin  `json:"origin"`   // OriginReference or OriginStart
	Risk   RiskSum `json:"sum"`      // lower bounds on its losses on the training rows
	// HalfWidth is half the width of the narrowest interval that covers a share [CurveShare] of the targets that the
	// constant is chosen on, raw; 0 unless the tolerance is [AnyTolerance].
	HalfWidth float64 `json:"half_width,omitempty"`
}

// Validate reports all faults of the evidence, NaN included.
func (ev Evidence) Validate() error {
	return errors.Join(
		ev.Loss.Validate(), ev.Delta.validate(), ev.validateRisks(), ev.validateConstant(), ev.validateTheta(), ev.Counts.validate(), ev.validateSample(),
		ev.validateRows(), ev.validateRecord(), ev.validateDeclared(), ev.Mean.validate(ev.Sample, ev.Counts), ev.validateUnits(), ev.Grouping.validate(ev.Sample, ev.Mean, ev.Counts),
	)
}

// validateRisks checks risks, KL and delta against each other.
func (ev Evidence) validateRisks() error {
	faults := []error{ev.Constant.Risk.validate()}
	if n := ev.Counts.Of(SubsetTraining); ev.Constant.Risk.Count() != n {
		faults = append(faults, fmt.Errorf("losses of the constant on %d %[3]ss, for %[2]d train %[3]ss: each needs exactly one", ev.Constant.Risk.Count(), n, ev.Counts.Example()))
	}
	needs := ev.Delta.needs()
	for _, key := range needs {
		t := ev.LossSums.Of(key.Predictor, key.Subset)
		if err := t.validate(ev.Counts.Of(key.Subset), ev); err != nil {
			faults = append(faults, fmt.Errorf("the losses of a %s on %s rows: %w", key.Predictor, key.Subset, err))
		}
	}
	if len(ev.LossSums) > len(needs) {
		faults = append(faults, fmt.Errorf("%d loss sums, which are more than the %d that the methods need", len(ev.LossSums), len(needs)))
	}
	if len(ev.Delta.Methods) > 0 && (ev.Counts.Holdout > 0) != ev.Delta.Uses(SubsetHoldout) {
		faults = append(faults, fmt.Errorf("%d held-out rows, which only the methods %q and %q use", ev.Counts.Holdout, MethodHoldout, MethodCurve))
	}
	if (ev.Grouping != nil) != ev.Delta.Applies(MethodGroups) {
		faults = append(faults, fmt.Errorf("groups: %t, which does not go with the methods %s", ev.Grouping != nil, List(ev.Delta.Methods)))
	}
	if (ev.Model.KLAround != 0) != ev.Delta.Applies(MethodMean) {
		faults = append(faults, fmt.Errorf("the KL around predictions is %g, which does not go with the methods %s", ev.Model.KLAround, List(ev.Delta.Methods)))
	}
	if !(0 < ev.Model.Accuracy && ev.Model.Accuracy <= math.MaxFloat64) {
		faults = append(faults, fmt.Errorf("the accuracy of predictions is %g, want a positive number", ev.Model.Accuracy))
	}
	return errors.Join(faults...)
}

// Of returns the number of examples of a subset.
func (l Counts) Of(subset Subset) int64 {
	train, holdout := l.Training, l.Holdout
	if u := l.Units; u != nil {
		train, holdout = u.Train, u.Holdout
	}
	return map[Subset]int64{SubsetTraining: train, SubsetHoldout: holdout}[subset]
}

// validateConstant checks the baseline's constant and its origin.
func (ev Evidence) validateConstant() error {
	var faults []error
	if !(math.Abs(ev.Constant.Value) <= math.MaxFloat64) {
		faults = append(faults, fmt.Errorf("the constant prediction is %g, want a finite number", ev.Constant.Value))
	}
	if h, every := ev.Constant.HalfWidth, ev.Loss.Tolerance != ""; !(0 <= h && h <= math.MaxFloat64) || h > 0 && !every || every && !ev.Delta.Applies(MethodCurve) {
		faults = append(faults, fmt.Errorf("half the width of a constant's interval is %g at the tolerance %q and the methods %s", h, ev.Loss.Tolerance, List(ev.Delta.Methods)))
	}
	switch {
	case ev.Constant.Origin != OriginReference && ev.Constant.Origin != OriginStart:
		faults = append(faults, fmt.Errorf("the constant prediction comes from %q, want %q or %q", ev.Constant.Origin, OriginReference, OriginStart))
	case (ev.Constant.Origin == OriginReference) != (ev.Counts.Prior > 0):
		faults = append(faults, fmt.Errorf("the constant prediction comes from %q, with %d prior rows: it is chosen on them where there are any", ev.Constant.Origin, ev.Counts.Prior))
	}
	return errors.Join(faults...)
}

// validateTheta checks kernel, grids and the number of hyper-parameters.
func (ev Evidence) validateTheta() error {
	faults := []error{ev.Model.Kernel.validate()}
	names := ParameterNames(ev.Features(), ev.Model.Kernel.Isotropic)
	if len(ev.Model.Theta) != len(names) {
		faults = append(faults, fmt.Errorf("%d hyper-parameters, want %d: the lengthscales and the variance", len(ev.Model.Theta), len(names)))
	}
	for i, name := range names {
		if i < len(ev.Model.Theta) && ev.Model.Theta[i].Name != name {
			faults = append(faults, fmt.Errorf("hyper-parameter %d is called %q, want %q", i, ev.Model.Theta[i].Name, name))
		}
	}
	if err := CheckSize(ev.Model.Theta); err != nil {
		return errors.Join(append(faults, err)...)
	}
	for _, p := range ev.Model.Theta {
		faults = append(faults, p.validate())
	}
	return errors.Join(faults...)
}

// ParameterNames returns the names of a kernel's hyper-parameters, in order.
func ParameterNames(features []string, isotropic bool) []string {
	if isotropic {
		return []string{"ln lengthscale", "ln variance"}
	}
	var names []string
	for _, f := range features {
		names = append(names, "ln lengthscale of "+f)
	}
	return append(names, "ln variance")
}

// validate checks that every row is in one subset.
func (l Counts) validate() error {
	var faults []error
	rest := l.Rows
	for _, count := range []int64{l.Prior, l.Training, l.Holdout, l.Duplicates, l.Rejected, l.Outside} {
		if count < 0 || count > rest {
			return errors.Join(append(faults, fmt.Errorf("counts does not add up: %d rows, of them %d prior, %d training and %d held-out", l.Rows, l.Prior, l.Training, l.Holdout))...)
		}
		rest -= count
	}
	if rest != 0 {
		faults = append(faults, fmt.Errorf("counts do not add up: %d of %d rows are in no subset", rest, l.Rows))
	}
	if l.Training < 1 {
		faults = append(faults, fmt.Errorf("counts have %d training rows: nothing to certify on", l.Training))
	}
	return errors.Join(faults...)
}

// validateSample checks digests, counts and columns.
func (ev Evidence) validateSample() error {
	faults := []error{validateDigest("sample", ev.Sample.Digest), validateDigest("targets", ev.Sample.Targets), validateDigest("model", ev.Model.Digest)}
	if ev.Sample.Shards < 1 {
		faults = append(faults, fmt.Errorf("dataset of %d shards", ev.Sample.Shards))
	}
	faults = append(faults, ev.Sample.validateSegments(ev.Counts.Rows))
	columns := ev.Sample.Columns
	if len(columns) < 2 {
		return errors.Join(append(faults, fmt.Errorf("sample has %d columns, want at least one feature and the target", len(columns)))...)
	}
	if columns[len(columns)-1] != ev.Loss.Target {
		faults = append(faults, fmt.Errorf("the last column is %q, but the loss is about %q", columns[len(columns)-1], ev.Loss.Target))
	}
	seen := make(map[string]bool, len(columns))
	for _, name := range columns {
		if name == "" || seen[name] {
			faults = append(faults, fmt.Errorf("column name %q is empty or taken", name))
		}
		seen[name] = true
		faults = append(faults, ColumnName(name))
	}
	return errors.Join(faults...)
}

// validateRecord checks jitter and job.
func (ev Evidence) validateRecord() error {
	var faults []error
	if j := ev.Model.Jitter; !(0 < j.Limit && j.Limit <= math.MaxFloat64) {
		faults = append(faults, fmt.Errorf("jitter check has the limit %g, want a positive number", j.Limit))
	}
	if again, err := State(ev.Job.Values); err != nil || again.Digest != ev.Job.Digest {
		faults = append(faults, errors.Join(fmt.Errorf("the digest of the job is %q, its settings give %q", ev.Job.Digest, again.Digest), err))
	}
	return errors.Join(faults...)
}

// digestForm is 64 hexadecimal digits in lower case.
var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func validateDigest(of, digest string) error {
	if !digestForm.MatchString(digest) {
		return fmt.Errorf("digest of the %s is %q, want 64 hexadecimal digits", of, digest)
	}
	return nil
}

// validateRows checks dependence and duplicates.
func (ev Evidence) validateRows() error {
	c, rows := ev.Duplicates, ev.Counts.Rows-ev.Counts.Rejected
	faults := []error{ev.Dependence.validate(ev.Counts.Prior + ev.Counts.Training)}
	if !(0 <= c.Limit && c.Limit <= 1) {
		faults = append(faults, fmt.Errorf("the limit of duplicates is %g, want a share of the rows", c.Limit))
	}
	switch c.Policy {
	case DuplicatesLimited:
		if float64(c.Rows) > c.Limit*float64(rows) {
			faults = append(faults, fmt.Errorf("%d duplicates are more than the share %g of %d rows", c.Rows, c.Limit, rows))
		}
	case DuplicatesDropped, DuplicatesKept:
		if c.Limit != 0 {
			faults = append(faults, fmt.Errorf("a limit of duplicates, %g, next to the policy %q", c.Limit, c.Policy))
		}
	default:
		faults = append(faults, fmt.Errorf("the policy for duplicates is %q, want %s, %s or %s", c.Policy, DuplicatesDropped, DuplicatesKept, DuplicatesLimited))
	}
	if c.Rows < 0 || c.Rows >= rows {
		faults = append(faults, fmt.Errorf("%d duplicates among %d rows", c.Rows, rows))
	}
	leftOut := int64(0)
	if c.Policy == DuplicatesDropped {
		leftOut = c.Rows
	}
	if ev.Counts.Duplicates != leftOut {
		faults = append(faults, fmt.Errorf("%d of %d duplicates are left out under the policy %q, want %d", ev.Counts.Duplicates, c.Rows, c.Policy, leftOut))
	}
	return errors.Join(faults...)
}

// validateDeclared checks the form of what the publisher says. Its truth cannot be checked.
func (ev Evidence) validateDeclared() error {
	var faults []error
	d := ev.Publisher
	if a := d.Attempt; a.OnTheseRows < 1 || a.InThisLog < a.OnTheseRows {
		faults = append(faults, fmt.Errorf("attempt %d on these rows, %d in this log: they count from 1", a.OnTheseRows, a.InThisLog))
	}
	faults = append(faults, word("software", d.Software, maxColumnName), word("machine", d.Training.Machine, maxColumnName))
	if d.Training.StoppedAfter < 0 {
		faults = append(faults, fmt.Errorf("training reached its time limit after %d steps", d.Training.StoppedAfter))
	}
	if err := d.Training.Parent.validate(ev.Sample, ev.Counts.Holdout); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
