package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
)

// A Plan says what a sample of a given size can certify, before any row is read; by units, before any is
// trained on.
type Plan struct {
	Rows            int64       `json:"rows"`
	Reference       int64       `json:"reference"`
	Train           int64       `json:"train"`             // the N of the bound, unless there are units
	Fitted          int64       `json:"fitted,omitempty"`  // approximate: to so many of the train rows Q is fitted; 0: all
	Holdout         int64       `json:"holdout"`           // approximate: the hash of each row decides
	Outside         int64       `json:"outside,omitempty"` // approximate
	Features        int         `json:"features"`
	LnInverseWeight float64     `json:"ln_inverse_weight"` // nats that the grid costs: see NewPlan
	Confidence      float64     `json:"ln_xi_over_delta"`  // ln(ξ(N)/δ), nats
	Bounds          []PlanBound `json:"bounds"`
	Looks           []PlanLook  `json:"looks,omitempty"` // at the hold-out rows; none with a curve, which ends them
	Units           *PlanUnits  `json:"units,omitempty"`
	Curve           []PlanCurve `json:"curve,omitempty"`  // of the hold-out rows
	Groups          []PlanGroup `json:"groups,omitempty"` // of them, by size, where the job asks for groups
	KeptBytes       int64       `json:"kept_bytes"`       // memory of the rows to fit
	Kept            bool        `json:"kept"`             // whether they fit the memory budget
}

// A PlanBound is the bound at one empirical risk and one divergence.
type PlanBound struct {
	Risk  float64 `json:"risk"`
	KL    float64 `json:"kl"` // nats
	Bound float64 `json:"bound"`
}

// PlanUnits are the units of a job, of which the train units are the N of the bound, and their hold-out bounds.
type PlanUnits struct {
	certify.UnitLedger

	Bounds []PlanUnit `json:"bounds"`
}

// A PlanUnit has the hold-out bounds if a share is missed: of the rows of each unit, and of the units with all
// their rows, where the loss is the mean; and of the units, where each misses or not.
type PlanUnit struct {
	Missed float64 `json:"missed"`
	Alike  float64 `json:"alike"`
	Apart  float64 `json:"apart"`
	Misses float64 `json:"misses,omitempty"` // 0: the loss is no count
}

// units are the bounds for units.
func (o *Plan) units(job Job, l *certify.UnitLedger) error {
	if l == nil {
		return nil
	}
	o.Units = &PlanUnits{UnitLedger: *l}
	if l.Holdout == 0 || !job.Spends().Applies(certify.MethodHoldout) {
		return nil // no hold-out, or a curve alone
	}
	n, share := l.Holdout, job.Spends().Share(certify.MethodHoldout)
	for _, missed := range []float64{0, 0.01, 0.05, 0.1, 0.2} {
		k, alike := int64(math.Ceil(missed*float64(n))), certify.Tally{}
		for range n {
			if err := alike.AddSpread(missed); err != nil {
				return fmt.Errorf("pipeline: %w", err)
			}
		}
		b := PlanUnit{Missed: missed}
		var errs [3]error
		b.Alike, errs[0] = certify.BettingUpper(alike.Spread, job.Delta, share)
		b.Apart, errs[1] = certify.BettingUpper(certify.Missed(k, n), job.Delta, share)
		if job.Loss.Kind.Counts() {
			b.Misses, errs[2] = certify.BinomialUpper(k, n, job.Delta, share)
		}
		if err := errors.Join(errs[:]...); err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
		o.Units.Bounds = append(o.Units.Bounds, b)
	}
	return nil
}

// Examples are the numbers of train and hold-out rows, or units.
func (o *Plan) Examples() (train, holdout int64) {
	if o.Units != nil {
		return o.Units.Train, o.Units.Holdout
	}
	return o.Train, o.Holdout
}

// A PlanLook is the hold-out bound if one row or unit in a hundred is missed; or if one in a hundred loses 1
// and the others nothing, the worst case of this mean.
type PlanLook struct {
	Look     int     `json:"look"`
	Paid     float64 `json:"paid"`     // as look number Look, after the ones before
	Declared float64 `json:"declared"` // as one of that many alternatives, declared together
}

// A PlanCurve has the hold-out bounds if a share of the rows is missed: at one declared tolerance, and
// at every tolerance. Both have the job's part of delta.
type PlanCurve struct {
	Missed float64 `json:"missed"`
	One    float64 `json:"one"`
	Every  float64 `json:"every"`
}

// A PlanGroup is the bound for one of the groups, of so many hold-out rows, if one in a hundred is missed,
// and the bound for so many rows alone.
type PlanGroup struct {
	Rows  int64   `json:"rows"`
	Bound float64 `json:"bound"`
	Alone float64 `json:"alone"`
}

// groupCount is the number of groups of a job, or the most that its reference rows can give.
func (j Job) groupCount() int {
	if j.Groups.given() && j.Groups.Values == nil {
		return certify.MaxGroupValues + 1
	}
	return len(j.Groups.Values) + 1
}

// groups are the bounds for groups of several sizes.
func (o *Plan) groups(job Job) error {
	if !job.Groups.given() {
		return nil
	}
	of, share := int64(job.groupCount()), job.Spends().Share(certify.MethodGroups)
	for _, n := range []int64{certify.LeastGroup, 100, 300, o.Holdout / of} {
		missed := (n + 99) / 100
		bound, err := certify.GroupUpper(missed, n, of, job.Delta, share)
		if err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
		alone, err := certify.GroupUpper(missed, n, 1, job.Delta, share)
		if err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
		o.Groups = append(o.Groups, PlanGroup{n, bound, alone})
	}
	return nil
}

// maxUnaskedCurve is the largest number of hold-out rows for a curve that the job does not declare: it
// takes a second or two.
const maxUnaskedCurve = 20_000

// curve compares a curve of the hold-out rows with one tolerance.
func (o *Plan) curve(job Job) error {
	asked := job.Spends().Applies(certify.MethodCurve)
	_, n := o.Examples()
	if n == 0 || o.Units != nil && job.Unit.Misses == nil || job.Loss.Kind != certify.LossZeroOne || !asked && n > maxUnaskedCurve {
		return nil
	}
	share := job.Spends().Share(certify.MethodHoldout)
	if asked {
		share = job.Spends().Share(certify.MethodCurve)
	}
	for _, missed := range []float64{0.01, 0.05, 0.1} {
		k := int64(math.Ceil(missed * float64(n)))
		one, err := certify.BinomialUpper(k, n, job.Delta, share)
		if err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
		every, err := certify.CurveUpper(k, n, job.Delta, share)
		if err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
		o.Curve = append(o.Curve, PlanCurve{missed, one, every})
	}
	return nil
}

// looks are the prices of looks at the hold-out rows.
func (o *Plan) looks(job Job) error {
	if o.Holdout == 0 || job.Spends().Applies(certify.MethodCurve) {
		return nil
	}
	_, n := o.Examples()
	missed := (n + 99) / 100
	for _, k := range []int{1, 2, 3, 5, 10} {
		bound := func(spends certify.Delta) (float64, error) {
			share := spends.Share(certify.MethodHoldout)
			if job.showsCount() {
				return certify.BinomialUpper(missed, n, job.Delta, share)
			}
			return certify.BettingUpper(certify.Missed(missed, n), job.Delta, share)
		}
		paid, declared := job.Spends(), job.Spends()
		if k > 1 {
			paid.Looks = &certify.Looks{Earlier: slices.Repeat(certify.GroupLooks(o.Holdout, job.groupCount()), k-1)}
		}
		declared.Alternatives *= int64(k)
		one, err := bound(paid)
		if err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
		other, err := bound(declared)
		if err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
		o.Looks = append(o.Looks, PlanLook{k, one, other})
	}
	return nil
}

// NewPlan computes the plan of a job with its defaults filled in. The places of peaks
// are not known; their parameters are charged for values one width away.
func NewPlan(job Job, s Sample, res Resources) (Plan, error) {
	if job.Unit.given() != (s.Units != nil) {
		return Plan{}, fmt.Errorf("%w: unit: a plan needs the number of units of the job", ErrConfig)
	}
	n, d := s.Rows, s.Features
	job = job.ForRows(n)
	o := Plan{Rows: n, Train: s.train(job), Holdout: s.apart(job, job.Roles.Holdout), Outside: s.apart(job, job.Roles.Outside), Features: d}
	o.Reference = n - o.Train - o.Holdout - o.Outside - s.Bad
	if o.Train < 1 {
		return o, fmt.Errorf("%w: %s leave no row to certify on", ErrData, certify.Count(n, "row"))
	}
	if err := o.units(job, s.Units); err != nil {
		return o, err
	}
	parameters := d + 1
	if job.Kernel.Isotropic {
		parameters = 2
	}
	theta := make([]certify.Parameter, parameters)
	for i := range theta {
		theta[i] = job.Grid.expected(fmt.Sprintf("parameter %d", i+1))
	}
	weight, err := certify.LnInverseWeight(len(job.Kernel.Family), theta)
	if err != nil {
		return o, fmt.Errorf("%w: grid: %w", ErrConfig, err)
	}
	o.LnInverseWeight = weight
	examples, _ := o.Examples()
	for _, risk := range []float64{0.01, 0.05, 0.1, 0.2} {
		for _, perRow := range []float64{0.003, 0.01, 0.03, 0.1} {
			kl := perRow * float64(examples)
			b, err := certify.Bound(certify.Terms{Risk: risk, KL: kl, LnInverseWeight: weight, N: examples, Delta: job.Delta, Share: job.Spends().Share(certify.MethodPACBayes)})
			if err != nil {
				return o, fmt.Errorf("pipeline: %w", err)
			}
			o.Confidence = b.LnXi + b.LnInverseDelta
			o.Bounds = append(o.Bounds, PlanBound{risk, kl, b.Upper})
		}
	}
	if err := errors.Join(o.looks(job), o.curve(job), o.groups(job)); err != nil {
		return o, err
	}
	fitted := job.Train.fitted(o.Train)
	if fitted < o.Train {
		o.Fitted = fitted
	}
	o.KeptBytes = fitted * int64(d+1) * 8
	o.Kept = o.KeptBytes <= res.WithDefaults().Memory
	return o, nil
}

// flat is the grid with equal weights.
func (g GridDecl) flat() certify.Grid {
	return certify.Grid{Min: g.Min, Step: g.Step, Count: g.count(), Prior: certify.PriorFlat}
}

// count is the number of values from Min to Max; a Max that misses the last
// one by rounding counts.
func (g GridDecl) count() int { return int((g.Max-g.Min)/g.Step+1e-6) + 1 }

// peaked is the grid with weights that fall from the value of that index.
func (g GridDecl) peaked(centre int) certify.Grid {
	grid := g.flat()
	grid.Prior, grid.Centre, grid.Width = certify.PriorPeaked, centre, g.Width
	return grid
}

// expected is a parameter as it may turn out: one width away from a peak in the middle.
func (g GridDecl) expected(name string) certify.Parameter {
	if g.Prior != certify.PriorPeaked {
		return certify.Parameter{Name: name, Grid: g.flat()}
	}
	grid := g.peaked((g.count() - 1) / 2)
	return certify.Parameter{Name: name, Grid: grid, Index: min(g.count()-1, grid.Centre+int(math.Round(g.Width/g.Step)))}
}

// peak is the index of the peak of a parameter's weights: the place nearest to its estimate.
func (g GridDecl) peak(at float64) int { return g.place(math.Round, at) }

// peaksBeside are the two places beside an estimate; verification accepts either.
// The weights pay for the choice (docs/proofs.md, 7).
func (g GridDecl) peaksBeside(at float64) (below, above int) {
	return g.place(math.Floor, at), g.place(math.Ceil, at)
}

// place is the index of a place near an estimate, by rounding. Places are so far apart that estimates
// on all instruction sets give the same one, or one of two neighbours.
func (g GridDecl) place(rounding func(float64) float64, at float64) int {
	apart := g.flat().Spacing()
	last := (g.count() - 1) / apart
	return apart * int(max(0, min(float64(last), rounding((at-g.Min)/(g.Step*float64(apart))))))
}
