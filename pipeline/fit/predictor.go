package fit

import (
	"context"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// The predictor has the features of Q and the weights (1−a)m + a·w, where m is the mean of Q and w are the weights of least
// squares on the training rows. The part a and the width of intervals are chosen on the prior rows, which certify nothing.
// The predictor is thus a function of Q and of the rows that are not held out, and verification computes it again.

// leastSquares returns the least-squares fit, at the features of a posterior, on the training rows or enough of them.
// onAdded, if not nil, is called with the number of rows added so far and the number of all rows to add.
func (f *Feed) leastSquares(ctx context.Context, p *model.Posterior, key string, workers int, onAdded func(done, total int64)) (*model.Fit, error) {
	shards, rows := f.enough(key)
	sums, err := model.NewRegression(p, rows, workers)
	if err != nil {
		return nil, err
	}
	defer sums.Close()
	added := int64(0)
	err = f.Chunks(ctx, shards, func(x, y []float64) error {
		if added += int64(len(y)); onAdded != nil {
			onAdded(added, rows)
		}
		return sums.Add(x, y)
	})
	if err != nil {
		return nil, err
	}
	return sums.Fit()
}

// Relative differences between the predictors of two correct programs are smaller than these numbers.
const (
	SameNumbers = 1e-6
	SameWeights = 1e-9 // or roundings·2⁻⁵² times the condition number, but at most mostApart
	roundings   = 64
	mostApart   = 1e-2
)

// A Choice compares values of the part a, by the errors of predictions on the prior rows.
type Choice struct {
	q           *model.Posterior
	fit         *model.Fit
	y           []float64 // of the prior rows, scaled
	mean, least []float64 // predictions by Q and by least squares
	variance    []float64 // of f
	loss        loss.Loss
	tolerance   float64 // the largest one, scaled
}

var leastSquaresParts = [...]float64{0, 0.25, 0.5, 0.75, 1}

// Choose computes least squares at the features of a posterior on the training rows, and predictions on the prior
// rows. onAdded, if not nil, is called with the number of training rows added so far and the number of all rows to add.
func (f *Feed) Choose(ctx context.Context, q *model.Posterior, s *pass.FirstPass, j job.Job, workers int, onAdded func(done, total int64)) (*Choice, error) {
	fit, err := f.leastSquares(ctx, q, j.Split.Key, workers, onAdded)
	if err != nil {
		return nil, err
	}
	spec, rows := j.LossSpec(s.Target), s.Scaled(s.Reference)
	c := &Choice{q: q, fit: fit, y: rows.Y, tolerance: max(spec.Epsilon, spec.Below, spec.Above) / s.Target.Scale}
	if c.loss, err = pass.ScaledLoss(spec, s.Target); err != nil {
		return nil, err
	}
	if c.least, c.variance, err = LawsAt(fit.Law, rows, workers); err != nil {
		return nil, err
	}
	c.mean, _, err = LawsAt(q, rows, workers)
	return c, err
}

// Apart returns the largest relative difference between the weights of two correct programs. Their other numbers differ by
// less than [SameNumbers].
func (c *Choice) Apart() float64 {
	return min(mostApart, max(SameWeights, roundings*0x1p-52*c.fit.Condition))
}

// at returns the predictions on the prior rows with this part of least squares.
func (c *Choice) at(part float64) []float64 {
	mixed := make([]float64, len(c.mean))
	for i := range mixed {
		mixed[i] = mix(part, c.mean[i], c.least[i])
	}
	return mixed
}

// errors returns the sum of the losses on the prior rows with this part, and that of losses and capped squared errors.
func (c *Choice) errors(part float64) (losses, errors float64) {
	for i, mean := range c.at(part) {
		off := (c.y[i] - mean) / c.tolerance
		point, square := c.loss.Point(c.y[i], mean), min(off*off, 1)
		if math.IsNaN(point) {
			point, square = 1, 1
		}
		losses, errors = losses+point, errors+point+square
	}
	return losses, errors
}

// Predictor returns the predictor whose part has the least errors on the prior rows: few losses differ between parts, so
// that squares count too. If a stated part is as good, up to rounding, Predictor uses it. Without held-out rows the predictor
// is the mean of Q; without prior rows it is least squares.
func (c *Choice) Predictor(job job.Job, stated *float64) (pass.Predictor, *model.Posterior) {
	part := 0.0
	switch {
	case job.Split.Holdout == 0:
	case len(c.y) == 0:
		part = 1
	default:
		least := math.Inf(1)
		for _, other := range leastSquaresParts {
			if _, errors := c.errors(other); errors < least {
				part, least = other, errors
			}
		}
		if stated != nil && slices.Contains(leastSquaresParts[:], *stated) {
			const alike = 1 + 1e-9
			if _, errors := c.errors(*stated); errors <= least*alike {
				part = *stated
			}
		}
	}
	law := *c.fit.Law
	law.Mean = make([]float64, len(c.q.Mean))
	for j := range law.Mean {
		law.Mean[j] = mix(part, c.q.Mean[j], c.fit.Law.Mean[j])
	}
	return pass.Predictor{Part: part, Noise: c.fit.Noise, Factor: calibration(c.y, c.at(part), c.variance, c.fit.Noise)}, &law
}

func mix(part, q, least float64) float64 { return float64((1-part)*q) + float64(part*least) }

// LawsAt returns the means and variances of f under p at rows.
func LawsAt(p *model.Posterior, rows model.Rows, workers int) (mean, variance []float64, err error) {
	predictor, err := model.NewPredictor(p, workers)
	if err != nil {
		return nil, nil, err
	}
	defer predictor.Close()
	mean, variance = make([]float64, rows.Len()), make([]float64, rows.Len())
	if rows.Len() == 0 {
		return mean, variance, nil
	}
	return mean, variance, predictor.Predict(rows.X, mean, variance)
}

const (
	// calibrated is the share of targets that mean ± 1.96 deviations is to cover.
	calibrated = 0.95
	normal95   = 1.959963984540054
	// supposed is the weight, in rows, of the assumption that the factor is 1.
	supposed = 50
)

// calibration returns the factor of the noise with which mean ± 1.96 deviations covers the share calibrated of the given
// rows and of supposed further rows, whose targets are distributed normally with exactly the variance of the noise.
func calibration(y, mean, variance []float64, noise float64) float64 {
	const least = 0x1p-10
	needed := make([]float64, 0, len(y)+supposed)
	for i := range y {
		off := (y[i] - mean[i]) / normal95
		needed = append(needed, (float64(off*off)-max(0, variance[i]))/noise)
	}
	for i := range supposed {
		off := math.Sqrt2 * math.Erfinv((float64(i)+0.5)/supposed) / normal95
		needed = append(needed, float64(off*off))
	}
	slices.Sort(needed)
	found := needed[min(len(needed), int(math.Ceil(calibrated*float64(len(needed)+1))))-1]
	if !(found < math.MaxFloat64) {
		return 1
	}
	return max(least, found)
}
