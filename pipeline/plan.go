package pipeline

import (
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Plan says what a dataset of a given size can certify. Unless examples are units, it needs no rows.
type Plan struct {
	Rows     int64               `json:"rows"`
	Prior    int64               `json:"prior"`
	Train    int64               `json:"training"`          // the N of the bound, unless examples are units
	Holdout  int64               `json:"holdout"`           // approximate, because the hash of each row decides
	Outside  int64               `json:"outside,omitempty"` // approximate
	Features int                 `json:"features"`
	Units    *certify.UnitCounts `json:"units,omitempty"`
	Bounds   []PlanBound         `json:"bounds"`

	Inducing int     `json:"inducing"` // the largest candidate
	Seconds  float64 `json:"seconds"`  // usual time of training and last pass, without reading
}

// A PlanBound holds the bounds if a share Missed of the rows or units is missed, or if that is the mean loss.
type PlanBound struct {
	Missed  float64 `json:"missed"`
	Draw    float64 `json:"draw"`              // with the KL of a good fit, planKL·N
	Holdout float64 `json:"holdout,omitempty"` // for the first use of the held-out rows; 0 without held-out rows
}

// planKL is the usual KL of a good fit, as a share of N.
const planKL = 0.03

// NewPlan returns the plan of a job, which must have its defaults filled in. Positions of peaks are not known, so that
// bounds are for parameters one width away from a peak. NewPlan measures the speed of the machine, for about 0.1 seconds.
func NewPlan(j job.Job, s fit.Sample, res job.Resources) (Plan, error) {
	if j.Unit.Given() != (s.Units != nil) {
		return Plan{}, fmt.Errorf("%w: unit: a plan needs the number of units of the job", job.ErrConfig)
	}
	n, d := s.Rows, s.Features
	j = j.ForRows(n)
	o := Plan{Rows: n, Train: s.Train(j), Holdout: s.Apart(j.Split.Holdout), Outside: s.Apart(j.Split.Outside), Features: d, Units: s.Units}
	o.Prior = n - o.Train - o.Holdout - o.Outside - s.Bad
	if u := s.Units; u != nil {
		each := float64(n-s.Bad-o.Outside) / float64(u.Prior+u.Train+u.Holdout)
		o.Prior, o.Train, o.Holdout = int64(each*float64(u.Prior)), int64(each*float64(u.Train)), int64(each*float64(u.Holdout))
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

// bounds sets the bounds for some shares.
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
