package pipeline

import (
	"fmt"
	"math"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

// A Plan says what a sample of a given size can certify, before any row is read; by units, before any is
// trained on.
type Plan struct {
	Rows      int64               `json:"rows"`
	Reference int64               `json:"reference"`
	Train     int64               `json:"train"`             // the N of the bound, unless there are units
	Holdout   int64               `json:"holdout"`           // approximate: the hash of each row decides
	Outside   int64               `json:"outside,omitempty"` // approximate
	Features  int                 `json:"features"`
	Units     *certify.UnitLedger `json:"units,omitempty"`
	Bounds    []PlanBound         `json:"bounds"`

	Inducing int     `json:"inducing"` // the largest candidate
	Seconds  float64 `json:"seconds"`  // of training and last pass, usual, without reading
}

// A PlanBound has the bounds if a share of the rows is missed, of the units, if there are some, or of the loss.
type PlanBound struct {
	Missed  float64 `json:"missed"`
	Draw    float64 `json:"draw"`              // with the KL of a good fit, [planKL] of N
	Holdout float64 `json:"holdout,omitempty"` // of the first look; 0: none
}

// planKL is the share of N that the KL of a good fit is about.
const planKL = 0.03

// NewPlan computes the plan of a job with its defaults filled in. The places of peaks
// are not known; their parameters are charged for values one width away. It measures the
// machine for about a tenth of a second.
func NewPlan(job Job, s Sample, res Resources) (Plan, error) {
	if job.Unit.given() != (s.Units != nil) {
		return Plan{}, fmt.Errorf("%w: unit: a plan needs the number of units of the job", ErrConfig)
	}
	n, d := s.Rows, s.Features
	job, res = job.ForRows(n), res.WithDefaults()
	o := Plan{Rows: n, Train: s.train(job), Holdout: s.apart(job.Roles.Holdout), Outside: s.apart(job.Roles.Outside), Features: d, Units: s.Units}
	o.Reference = n - o.Train - o.Holdout - o.Outside - s.Bad
	if o.Train < 1 {
		return o, fmt.Errorf("%w: %s leave no row to certify on", ErrData, words.Count(n, "row"))
	}
	if err := o.bounds(job); err != nil {
		return o, err
	}
	var work float64
	for _, c := range candidates(job, s) {
		o.Inducing = max(o.Inducing, c.Inducing)
		work += job.Train.work(c, len(job.Inducing) == 0, res.Workers) + rowWork(c.Inducing, float64(o.Train))
	}
	measured, err := rate(s.inputs(job), res.Workers)
	if o.Seconds = work / measured; job.Train.Time > 0 {
		o.Seconds = min(o.Seconds, time.Duration(job.Train.Time).Seconds()+rowWork(o.Inducing, float64(o.Train))/measured)
	}
	return o, err
}

// bounds are those of some shares.
func (o *Plan) bounds(job Job) error {
	parameters := o.Features + 1
	if job.Kernel.Isotropic {
		parameters = 2
	}
	theta := make([]certify.Parameter, parameters)
	for i := range theta {
		theta[i] = job.Grid.expected(fmt.Sprintf("parameter %d", i+1))
	}
	weight, err := certify.LnInverseWeight(len(job.Kernel.Family), theta)
	if err != nil {
		return fmt.Errorf("%w: grid: %w", ErrConfig, err)
	}
	train, holdout := o.Train, o.Holdout
	if o.Units != nil {
		train, holdout = o.Units.Train, o.Units.Holdout
	}
	spends := job.Spends()
	for _, missed := range []float64{0.01, 0.05, 0.1, 0.2} {
		draw, err := certify.Bound(certify.Terms{Risk: missed, KL: planKL * float64(train), LnInverseWeight: weight, N: train, Delta: job.Delta, Share: spends.Share(certify.MethodPACBayes)})
		if err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
		b, k := PlanBound{Missed: missed, Draw: draw.Upper}, int64(math.Ceil(missed*float64(holdout)))
		switch {
		case holdout == 0 || !spends.Applies(certify.MethodHoldout):
		case job.showsCount():
			b.Holdout, err = certify.BinomialUpper(k, holdout, job.Delta, spends.Share(certify.MethodHoldout))
		default:
			b.Holdout, err = certify.BettingUpper(certify.Missed(k, holdout), job.Delta, spends.Share(certify.MethodHoldout))
		}
		if err != nil {
			return fmt.Errorf("pipeline: %w", err)
		}
		o.Bounds = append(o.Bounds, b)
	}
	return nil
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
