package certify

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// Evidence is what a certificate is made from: plain numbers and words about
// one fitted model and one pass over the rows that it answers for.
type Evidence struct {
	Loss     Loss
	Delta    Delta
	Risk     RiskSum // losses of a draw of Q on the train rows, one each
	KL       float64 // KL(Q‖P), from [GaussianKL]
	Kernel   Kernel
	Theta    []Parameter
	Constant Constant
	// Assumptions states AssumeIndependentRows to AssumeLossAccuracy, each with
	// its status and, where there is one, its diagnostic; the standard text is
	// filled in. Further ones have a text of their own.
	Assumptions   []Assumption
	Ledger        Ledger
	Sample        Sample
	RowRules      []string        // what a row must satisfy, in words
	ModelDigest   string          // SHA-256 of the model file, 64 hexadecimal digits
	Configuration json.RawMessage // the resolved settings, a JSON object without secrets
	RolesKey      string
	OptimiserSeed uint64
	Jitter        JitterCheck
	Attempt       Attempt
	Software      string
}

// A Constant is the constant prediction that guarantees are compared with.
type Constant struct {
	Value  float64 // raw
	Origin string  // OriginReference or OriginDeclared
	Risk   RiskSum // its losses on the train rows
}

// Validate reports all faults of the evidence, NaN included.
func (ev Evidence) Validate() error {
	_, err := ev.assumptions()
	return errors.Join(
		ev.Loss.Validate(), ev.validateRisks(), ev.validateTheta(), ev.Ledger.validate(), ev.validateSample(), err,
		ev.validateRecord(),
	)
}

// validateRisks checks risks, KL and delta against each other.
func (ev Evidence) validateRisks() error {
	n := ev.Ledger.Train
	faults := []error{ev.Delta.validate(), ev.Risk.validate(), ev.Constant.Risk.validate()}
	if ev.Risk.Count() != n || ev.Constant.Risk.Count() != n {
		faults = append(faults, fmt.Errorf("losses of %d rows, and %d of the constant, for %d train rows: each needs exactly one",
			ev.Risk.Count(), ev.Constant.Risk.Count(), n))
	} else if n > 0 {
		faults = append(faults, Terms{Risk: ev.Risk.Upper(), KL: ev.KL, N: n, Delta: .5}.validate())
	}
	if !(math.Abs(ev.Constant.Value) <= math.MaxFloat64) {
		faults = append(faults, fmt.Errorf("the constant prediction is %g, want a finite number", ev.Constant.Value))
	}
	switch {
	case ev.Constant.Origin != OriginReference && ev.Constant.Origin != OriginDeclared:
		faults = append(faults, fmt.Errorf("the constant prediction comes from %q, want %q or %q", ev.Constant.Origin, OriginReference, OriginDeclared))
	case ev.Constant.Origin == OriginReference && ev.Ledger.Reference == 0:
		faults = append(faults, errors.New("the constant prediction comes from reference rows, but there are none"))
	}
	return errors.Join(faults...)
}

// validateTheta checks kernel, grids and the number of hyper-parameters.
func (ev Evidence) validateTheta() error {
	var faults []error
	if ev.Kernel.Family != KernelSquaredExponential {
		faults = append(faults, fmt.Errorf("kernel %q is unknown, want %q", ev.Kernel.Family, KernelSquaredExponential))
	}
	want := 2
	if ev.Kernel.ARD {
		want = len(ev.Sample.Columns)
	}
	if len(ev.Theta) != want {
		faults = append(faults, fmt.Errorf("%d hyper-parameters, want %d: the lengthscales and the variance", len(ev.Theta), want))
	}
	names := make(map[string]bool, len(ev.Theta))
	for _, p := range ev.Theta {
		if p.Name == "" || names[p.Name] {
			faults = append(faults, fmt.Errorf("hyper-parameter name %q is empty or taken", p.Name))
		}
		names[p.Name] = true
		faults = append(faults, plainText("hyper-parameter's name", p.Name), p.validate())
	}
	return errors.Join(faults...)
}

// validate checks that every row has one role.
func (l Ledger) validate() error {
	var faults []error
	if l.Unit != "row" {
		faults = append(faults, fmt.Errorf("ledger counts %q, want row", l.Unit))
	}
	rest := l.Rows
	for _, count := range []int64{l.Reference, l.Train, l.Holdout, l.Bad} {
		if count < 0 || count > rest {
			return errors.Join(append(faults, fmt.Errorf("ledger does not add up: %+v", l))...)
		}
		rest -= count
	}
	if rest != 0 {
		faults = append(faults, fmt.Errorf("ledger does not add up: %d of %d rows have no role", rest, l.Rows))
	}
	if l.Train < 1 {
		faults = append(faults, fmt.Errorf("ledger has %d train rows: nothing to certify on", l.Train))
	}
	return errors.Join(faults...)
}

// validateSample checks digests, counts and columns.
func (ev Evidence) validateSample() error {
	faults := []error{
		validateDigest("sample", ev.Sample.Digest), validateDigest("targets", ev.Sample.Targets), validateDigest("model", ev.ModelDigest),
	}
	if ev.Sample.Shards < 1 || ev.Sample.Rows != ev.Ledger.Rows {
		faults = append(faults, fmt.Errorf("sample of %d rows in %d shards, but the ledger has %d rows", ev.Sample.Rows, ev.Sample.Shards, ev.Ledger.Rows))
	}
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
		faults = append(faults, plainText("column name", name))
	}
	return errors.Join(faults...)
}

// validateRecord checks what is recorded beside the numbers of the bound.
func (ev Evidence) validateRecord() error {
	var faults []error
	if j := ev.Jitter; !(0 <= j.Bound && j.Bound <= math.MaxFloat64 && 0 < j.Limit && j.Limit <= math.MaxFloat64) {
		faults = append(faults, fmt.Errorf("jitter check has bound %g and limit %g, want finite numbers", j.Bound, j.Limit))
	}
	if a := ev.Attempt; a.OnThisSample < 1 || a.InThisDirectory < a.OnThisSample {
		faults = append(faults, fmt.Errorf("attempt %d on this sample, %d in this directory: they count from 1", a.OnThisSample, a.InThisDirectory))
	}
	if ev.Software == "" {
		faults = append(faults, errors.New("the software is not named"))
	}
	faults = append(faults, plainText("software", ev.Software), plainText("roles key", ev.RolesKey))
	for _, rule := range ev.RowRules {
		faults = append(faults, plainText("row rule", rule))
	}
	if _, err := compactObject(ev.Configuration); err != nil {
		faults = append(faults, fmt.Errorf("configuration: %w", err))
	}
	return errors.Join(faults...)
}

// Validate reports all faults of the declaration, NaN included.
func (l Loss) Validate() error {
	faults := []error{plainText("target", l.Target), plainText("unit", l.Unit)}
	if l.Target == "" {
		faults = append(faults, errors.New("the loss names no target"))
	}
	finite := func(x float64) bool { return 0 <= x && x <= math.MaxFloat64 }
	switch l.Kind {
	case LossZeroOne, LossSquared, LossExponential:
		if !(finite(l.Epsilon) && l.Epsilon > 0 && l.Below == 0 && l.Above == 0) {
			faults = append(faults, fmt.Errorf("loss %q with epsilon %g, below %g, above %g: it takes one tolerance epsilon > 0, in units of the target", l.Kind, l.Epsilon, l.Below, l.Above))
		}
	case LossBand:
		if !(finite(l.Below) && finite(l.Above) && l.Below+l.Above > 0 && l.Epsilon == 0) {
			faults = append(faults, fmt.Errorf("loss %q with epsilon %g, below %g, above %g: it takes below ≥ 0 and above ≥ 0, not both 0, in units of the target", l.Kind, l.Epsilon, l.Below, l.Above))
		}
	case LossRelative:
		if !(l.Epsilon == 0 && l.Below == 0 && l.Above == 0) {
			faults = append(faults, fmt.Errorf("loss %q takes no tolerance", l.Kind))
		}
	default:
		faults = append(faults, fmt.Errorf("loss %q is unknown, want %s, %s, %s, %s or %s", l.Kind, LossZeroOne, LossBand, LossSquared, LossExponential, LossRelative))
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

// plainText refuses what would not survive a document, or could forge a line of it.
func plainText(what, s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s %q is not UTF-8", what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return fmt.Errorf("%s %q holds a control character", what, s)
		}
	}
	return nil
}
