package certify

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
)

// Evidence is what a certificate is made from: plain numbers about one fitted model and one pass
// over the rows of its dataset.
type Evidence struct {
	Loss       TargetLoss    `json:"loss"`
	Delta      Delta         `json:"delta"`    // the user declares it: it has no default
	LossSums   LossSums      `json:"losses"`   // those that the methods of Delta need: see [LossSums.For]
	Constant   Constant      `json:"baseline"` // the best constant prediction, with its losses
	Counts     Counts        `json:"counts"`
	Sample     Sample        `json:"dataset"`
	Duplicates Duplicates    `json:"duplicates"`
	Dependence Series        `json:"dependence"`       // of the targets of prior and training rows, in the order of the rows
	Mean       *Mean         `json:"mean,omitempty"`   // nil if the prior's mean function is a constant
	Grouping   *Grouping     `json:"groups,omitempty"` // for [MethodGroups]; nil without this method
	Model      Facts         `json:"model"`
	Job        Configuration `json:"job"` // from [State]
	Publisher  Declared      `json:"publisher"`
}

// A Constant is the constant prediction whose bound is the baseline of the claims.
type Constant struct {
	Value  float64 `json:"constant"` // in raw units of the target
	Origin Origin  `json:"origin"`   // OriginPrior or OriginStart
	Risk   RiskSum `json:"sum"`      // lower bounds on its losses on the training rows
	// HalfWidth is half the width, in raw units, of the narrowest interval that covers the share [CurveShare]
	// of the targets that the constant is chosen on. It is 0 unless the tolerance is [AnyTolerance].
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
	faults := faultList{ev.Constant.Risk.validate()}
	constant, n := ev.Constant.Risk.Count(), ev.Counts.Of(SubsetTraining)
	faults.when(constant != n, "losses of the constant on %d %[3]ss, for %[2]d train %[3]ss: each needs exactly one", constant, n, ev.Counts.Example())
	needs := ev.Delta.needs()
	for _, key := range needs {
		t := ev.LossSums.Of(key.Predictor, key.Subset)
		err := t.validate(ev.Counts.Of(key.Subset), ev)
		faults.when(err != nil, "the losses of a %s on %s rows: %w", key.Predictor, key.Subset, err)
		faults.when(t.Unproven > ev.Counts.rows(key.Subset), "%d of %d %s rows are not proven", t.Unproven, ev.Counts.rows(key.Subset), key.Subset)
	}
	faults.when(len(ev.LossSums) > len(needs), "%d loss sums, which are more than the %d that the methods need", len(ev.LossSums), len(needs))
	faults.when(len(ev.Delta.Methods) > 0 && (ev.Counts.Holdout > 0) != ev.Delta.Uses(SubsetHoldout), "%d held-out rows, which only the methods %q and %q use", ev.Counts.Holdout, MethodHoldout, MethodCurve)
	faults.when((ev.Grouping != nil) != ev.Delta.Applies(MethodGroups), "groups: %t, which does not go with the methods %s", ev.Grouping != nil, List(ev.Delta.Methods))
	faults.when((ev.Model.KLAround != 0) != ev.Delta.Applies(MethodMean), "the KL around predictions is %g, which does not go with the methods %s", ev.Model.KLAround, List(ev.Delta.Methods))
	faults.when(!(0 < ev.Model.Accuracy && ev.Model.Accuracy <= math.MaxFloat64), "the accuracy of predictions is %g, want a positive number", ev.Model.Accuracy)
	return faults.err()
}

// Of returns the number of examples of a subset: units, if examples are units, or else rows.
func (l Counts) Of(subset Subset) int64 {
	if u := l.Units; u != nil {
		return Counts{Training: u.Train, Holdout: u.Holdout}.rows(subset)
	}
	return l.rows(subset)
}

// rows returns the number of rows of a subset.
func (l Counts) rows(subset Subset) int64 {
	return map[Subset]int64{SubsetTraining: l.Training, SubsetHoldout: l.Holdout}[subset]
}

// validateConstant checks the baseline's constant and its origin.
func (ev Evidence) validateConstant() error {
	var faults faultList
	faults.when(!(math.Abs(ev.Constant.Value) <= math.MaxFloat64), "the constant prediction is %g, want a finite number", ev.Constant.Value)
	h, every, origin := ev.Constant.HalfWidth, ev.Loss.Tolerance != "", ev.Constant.Origin
	faults.when(!(0 <= h && h <= math.MaxFloat64) || h > 0 && !every || every && !ev.Delta.Applies(MethodCurve),
		"half the width of a constant's interval is %g at the tolerance %q and the methods %s", h, ev.Loss.Tolerance, List(ev.Delta.Methods))
	known := origin == OriginPrior || origin == OriginStart
	faults.when(!known, "the constant prediction comes from %q, want %q or %q", origin, OriginPrior, OriginStart)
	faults.when(known && (origin == OriginPrior) != (ev.Counts.Prior > 0),
		"the constant prediction comes from %q, with %d prior rows: it is chosen on them where there are any", origin, ev.Counts.Prior)
	return faults.err()
}

// validateTheta checks kernel, grids and the number of hyper-parameters.
func (ev Evidence) validateTheta() error {
	k := ev.Model.Kernel
	faults := faultList{KernelFamilies(k.Families)}
	faults.when(!slices.Contains(k.Families, k.Family), "kernel %q is none of the declared %s", k.Family, List(k.Families))
	names := ParameterNames(ev.Features(), k.Isotropic)
	faults.when(len(ev.Model.Theta) != len(names), "%d hyper-parameters, want %d: the lengthscales and the variance", len(ev.Model.Theta), len(names))
	for i, p := range ev.Model.Theta[:min(len(ev.Model.Theta), len(names))] {
		faults.when(p.Name != names[i], "hyper-parameter %d is called %q, want %q", i, p.Name, names[i])
	}
	for _, p := range ev.Model.Theta {
		faults.add(p.validate())
	}
	return faults.err()
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
	rest := l.Rows
	for _, count := range []int64{l.Prior, l.Training, l.Holdout, l.Duplicates, l.Rejected, l.Outside} {
		if count < 0 || count > rest {
			return fmt.Errorf("counts do not add up: %d rows, of them %d prior, %d training and %d held-out", l.Rows, l.Prior, l.Training, l.Holdout)
		}
		rest -= count
	}
	var faults faultList
	faults.when(rest != 0, "counts do not add up: %d of %d rows are in no subset", rest, l.Rows)
	faults.when(l.Training < 1, "counts have %d training rows: nothing to certify on", l.Training)
	return faults.err()
}

// validateSample checks digests, counts and columns.
func (ev Evidence) validateSample() error {
	faults := faultList{validateDigest("sample", ev.Sample.Digest), validateDigest("targets", ev.Sample.Targets), validateDigest("model", ev.Model.Digest)}
	faults.when(ev.Sample.Shards < 1, "dataset of %d shards", ev.Sample.Shards)
	faults.add(ev.Sample.validateSegments(ev.Counts.Rows))
	columns := ev.Sample.Columns
	if len(columns) < 2 {
		faults.add(fmt.Errorf("sample has %d columns, want at least one feature and the target", len(columns)))
		return faults.err()
	}
	faults.when(columns[len(columns)-1] != ev.Loss.Target, "the last column is %q, but the loss is about %q", columns[len(columns)-1], ev.Loss.Target)
	seen := make(map[string]bool, len(columns))
	for _, name := range columns {
		faults.when(name == "" || seen[name], "column name %q is empty or taken", name)
		seen[name] = true
		faults.add(ColumnName(name))
	}
	return faults.err()
}

// validateRecord checks the limit of the jitter check and the digest of the job.
func (ev Evidence) validateRecord() error {
	var faults faultList
	limit := ev.Model.Jitter.Limit
	faults.when(!(0 < limit && limit <= math.MaxFloat64), "jitter check has the limit %g, want a positive number", limit)
	again, err := State(ev.Job.Values)
	faults.when(err != nil || again.Digest != ev.Job.Digest, "the digest of the job is %q, its settings give %q", ev.Job.Digest, again.Digest)
	faults.add(err)
	return faults.err()
}

// digestForm is 64 hexadecimal digits in lower case.
var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func validateDigest(what, digest string) error {
	if !digestForm.MatchString(digest) {
		return fmt.Errorf("digest of the %s is %q, want 64 hexadecimal digits", what, digest)
	}
	return nil
}

// validateRows checks dependence and duplicates.
func (ev Evidence) validateRows() error {
	c, rows := ev.Duplicates, ev.Counts.Rows-ev.Counts.Rejected
	faults := faultList{ev.Dependence.validate(ev.Counts.Prior + ev.Counts.Training)}
	faults.when(!(0 <= c.Limit && c.Limit <= 1), "the limit of duplicates is %g, want a share of the rows", c.Limit)
	switch c.Policy {
	case DuplicatesLimited:
		faults.when(float64(c.Rows) > c.Limit*float64(rows), "%d duplicates are more than the share %g of %d rows", c.Rows, c.Limit, rows)
	case DuplicatesDropped, DuplicatesKept:
		faults.when(c.Limit != 0, "a limit of duplicates, %g, next to the policy %q", c.Limit, c.Policy)
	default:
		faults.add(fmt.Errorf("the policy for duplicates is %q, want %s, %s or %s", c.Policy, DuplicatesDropped, DuplicatesKept, DuplicatesLimited))
	}
	faults.when(c.Rows < 0 || c.Rows >= rows, "%d duplicates among %d rows", c.Rows, rows)
	leftOut := int64(0)
	if c.Policy == DuplicatesDropped {
		leftOut = c.Rows
	}
	faults.when(ev.Counts.Duplicates != leftOut, "%d of %d duplicates are left out under the policy %q, want %d", ev.Counts.Duplicates, c.Rows, c.Policy, leftOut)
	return faults.err()
}

// validateDeclared checks the form of the publisher's statements. Their truth cannot be checked.
func (ev Evidence) validateDeclared() error {
	d, a := ev.Publisher, ev.Publisher.Attempt
	var faults faultList
	faults.when(a.OnTheseRows < 1 || a.InThisLog < a.OnTheseRows, "attempt %d on these rows, %d in this log: they count from 1", a.OnTheseRows, a.InThisLog)
	faults.add(Name("software", d.Software), Name("machine", d.Training.Machine))
	faults.when(d.Training.StoppedAfter < 0, "training reached its time limit after %d steps", d.Training.StoppedAfter)
	faults.add(d.Training.Parent.validate(ev.Sample, ev.Counts.Holdout))
	return faults.err()
}
