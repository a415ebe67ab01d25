package pipeline

import (
	"cmp"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model"
)

const (
	// calibrated is the share of the rows that mean ± 1.96 predictive deviations covers.
	calibrated = 0.95
	// calibrationRows is the number of start rows to calibrate on if there are no reference
	// rows.
	calibrationRows = 1000
	leastNoise      = 1e-12
)

// noise finds the noise with which mean ± 1.96 predictive deviations covers a share
// calibrated of some rows; of several spreads that give one, the sharpest. It is no part of Q.
// There is none where the column of the mean may have been fitted to these rows: it leaves less of
// them than of fresh ones.
func (t *training) noise(p *model.Posterior) (*Noise, error) {
	if t.job.Mean.given() && t.job.Roles.Outside == 0 {
		t.env.Observer.notice("the model gets no predictive deviations: the column of the mean may have been fitted to the rows that would show them. " +
			"The guarantee curve gives intervals all the same, and so do rows that are the column's alone (roles.outside)")
		return nil, nil
	}
	rows := t.start.Slice(0, min(t.start.Len(), cmp.Or(t.survey.reference.n, calibrationRows)))
	predictor, err := model.NewPredictor(p, t.env.Resources.Workers)
	if err != nil {
		return nil, err
	}
	defer predictor.Close()
	mean, variance := make([]float64, rows.Len()), make([]float64, rows.Len())
	if err := predictor.Predict(rows.X, mean, variance); err != nil {
		return nil, err
	}
	best, sharpest := &Noise{Variance: leastNoise}, math.Inf(1)
	needed := make([]float64, rows.Len())
	for _, spread := range []float64{1, 0.25, 0.0625, 0} {
		for i, y := range rows.Y {
			off := (y - mean[i]) / 1.96
			needed[i] = float64(off*off) - float64(spread*max(0, variance[i]))
		}
		slices.Sort(needed)
		n := Noise{Spread: spread, Variance: needed[min(len(needed), int(math.Ceil(calibrated*float64(len(needed)+1))))-1]}
		if !(n.Variance > leastNoise) {
			continue // too wide even without noise
		}
		width := 0.0
		for _, v := range variance {
			width += math.Log(n.around(max(0, v)))
		}
		if width < sharpest {
			best, sharpest = &n, width
		}
	}
	return best, nil
}
