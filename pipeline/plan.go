package pipeline

import (
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Plan says what a sample of a given size can certify, before any row is read; by units, before any is
// trained on.
type Plan struct {
	Rows      int64               `json:"rows"`
	Reference int64               `json:"prior"`
	Train     int64               `json:"training"`          // the N of the bound, unless there are units
	Holdout   int64               `json:"holdout"`           // approximate: the hash of each row decides
	Outside   int64               `json:"outside,omitempty"` // approximate
	Features  int                 `json:"features"`
	Units     *certify.UnitCounts `json:"units,omitempty"`
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

// NewPlan computes the plan of a job with its defaults filled in. The positions of peaks
// are not known; their parameters are charged for values one width away. It measures the
// machine for about a tenth of a second.
func NewPlan(j job.Job, s fit.Sample, res job.Resources) (Plan, error) {
	if j.Unit.Given() != (s.Units != nil) {
		return Plan{}, fmt.Errorf("%w: unit: a plan needs the number of units of the job", job.ErrConfig)
	}
	n, d := s.Rows, s.Features
	j = j.ForRows(n)
	o := Plan{Rows: n, Train: s.Train(j), Holdout: s.Apart(j.Split.Holdout), Outside: s.Apart(j.Split.Outside), Features: d, Units: s.Units}
	o.Reference = n - o.Train - o.Holdout - o.Outside - s.Bad
	if u := s.Units; u != nil {
		each := float64(n-s.Bad-o.Outside) / float64(u.Reference+u.Train+u.Holdout)
		o.Reference, o.Train, o.Holdout = int64(each*float64(u.Reference)), int64(each*float64(u.Train)), int64(each*float64(u.Holdout))
	}
	if o.Train < 1 {
		return o, fmt.Errorf("%w: %s leave no row to certify on", job.ErrData, words.Count(n, "row"))
	}
	if err := o.bounds(j); err != nil {
		return o, err
	}
	var err error
	o.Inducing, o.Seconds, err = s.Duration(j, o.Train, res.WithDefaults().Workers)
	return o, err
}

// bounds are those of some shares.
func (o *Plan) bounds(j job.Job) error {
	parameters := o.Features + 1
	if j.Kernel.Isotropic {
		parameters = 2
	}
	theta := make([]certify.Parameter, parameters)
	for i := range theta {
		theta[i] = j.Grid.Expected(fmt.Sprintf("parameter %d", i+1))
	}
	weight, err := certify.LnInverseWeight(len(j.Kernel.Family), theta)
	if err != nil {
		return fmt.Errorf("%w: grid: %w", job.ErrConfig, err)
	}
	train, holdout := o.Train, o.Holdout
	if o.Units != nil {
		train, holdout = o.Units.Train, o.Units.Holdout
	}
	spends := j.Spends()
	for _, missed := range []float64{0.01, 0.05, 0.1, 0.2} {
		draw, err := certify.Bound(certify.Terms{Risk: missed, KL: planKL * float64(train), LnInverseWeight: weight, N: train, Delta: j.Delta, Share: spends.Share(certify.MethodPACBayes)})
		if err != nil {
			return err
		}
		b, k := PlanBound{Missed: missed, Draw: draw.Upper}, int64(math.Ceil(missed*float64(holdout)))
		switch {
		case holdout == 0:
		case !spends.Applies(certify.MethodHoldout):
			b.Holdout, err = certify.CurveUpper(k, holdout, j.Delta, spends.Share(certify.MethodCurve))
		case j.ShowsCount():
			b.Holdout, err = certify.BinomialUpper(k, holdout, j.Delta, spends.Share(certify.MethodHoldout))
		default:
			b.Holdout, err = certify.BettingUpper(certify.Missed(k, holdout), j.Delta, spends.Share(certify.MethodHoldout))
		}
		if err != nil {
			return err
		}
		o.Bounds = append(o.Bounds, b)
	}
	return nil
}
