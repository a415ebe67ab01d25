package fit

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/loss"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// The predictor has the features of Q and the weights (1−a)m + a·w, where m is the mean of Q and w are the weights of least
// squares on the training rows, with a noise. The part a, the noise and the width of intervals are chosen on the prior rows,
// which certify nothing. The predictor is thus a function of Q and of the rows that are not held out, and verification
// computes it again.

// leastSquares returns what least squares, at the features of a posterior, need of the training rows or enough of them.
// onAdded, if not nil, is called with the number of rows added so far and the number of all rows to add.
func (f *Feed) leastSquares(ctx context.Context, p *model.Posterior, key string, workers int, onAdded func(done, total int64)) (*model.Regression, error) {
	shards, rows := f.enough(key)
	sums, err := model.NewRegression(p, rows, workers)
	if err != nil {
		return nil, err
	}
	added := int64(0)
	err = f.Chunks(ctx, shards, func(x, y []float64) error {
		if added += int64(len(y)); onAdded != nil {
			onAdded(added, rows)
		}
		return sums.Add(x, y)
	})
	if err != nil {
		sums.Close()
		return nil, err
	}
	return sums, nil
}

// Relative differences between the predictors of two correct programs are smaller than these numbers.
const (
	SameNumbers = 1e-6
	SameWeights = 1e-9 // or roundings·2⁻⁵² times the condition number, but at most mostApart
	roundings   = 64
	mostApart   = 1e-2
)

// A Choice is the predictor whose predictions have the least errors on the prior rows.
type Choice struct {
	Predictor pass.Predictor
	Law       *model.Posterior

	priorRows int
	priorLoss float64 // mean over these rows
	noiseless bool    // the rows show no noise
	condition float64
}

// What is compared: parts of least squares, with the noise of the highest evidence and, so many times, a quarter of it. The
// kernel of Q has a small variance, with which that noise is often too large.
var leastSquaresParts = [...]float64{0, 0.25, 0.5, 0.75, 1}

const quarters = 3

// An option is a predictor that is compared with others.
type option struct {
	part, noise    float64
	mean, variance []float64 // on the prior rows
	losses, errors float64   // sums over them: of losses, and of losses and capped squared errors
}

// Choose computes least squares at the features of a posterior on the training rows, and chooses a predictor on the prior
// rows. If a stated one is as good, up to rounding, Choose takes it. Without held-out rows the predictor is the mean of Q;
// without prior rows it is least squares. onAdded, if not nil, is called with the number of training rows added so far and
// the number of all rows to add.
func (f *Feed) Choose(ctx context.Context, q *model.Posterior, s *pass.FirstPass, j job.Job, workers int, stated *pass.Predictor, onAdded func(done, total int64)) (*Choice, error) {
	sums, err := f.leastSquares(ctx, q, j.Split.Key, workers, onAdded)
	if err != nil {
		return nil, err
	}
	defer sums.Close()
	fit, err := sums.Fit()
	if err != nil {
		return nil, err
	}
	rows, spec := s.Scaled(s.Prior), j.LossSpec(s.Target)
	l, err := pass.ScaledLoss(spec, s.Target)
	if err != nil {
		return nil, err
	}
	mean, _, err := LawsAt(q, rows, workers)
	if err != nil {
		return nil, err
	}
	evidence, tolerance := fit.Noise, max(spec.Epsilon, spec.Below, spec.Above)/s.Target.Scale
	parts, all := leastSquaresParts[:], []option(nil)
	switch {
	case j.Split.Holdout == 0:
		parts = parts[:1]
	case len(rows.Y) == 0:
		parts = parts[len(parts)-1:]
	}
	for noise := evidence; len(all) == 0 || len(parts) > 1 && noise >= fit.Least && noise >= evidence/(1<<(2*quarters)); noise /= 4 {
		if noise != evidence {
			if fit, err = sums.At(noise); err != nil {
				return nil, err
			}
		}
		least, variance, err := LawsAt(fit.Law, rows, workers)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			if part == 0 && noise != evidence { // the same predictor again
				continue
			}
			c := option{part: part, noise: noise, mean: mixed(part, mean, least), variance: variance}
			c.losses, c.errors = errorsOf(l, tolerance, rows.Y, c.mean)
			all = append(all, c)
		}
	}
	best := bestOf(all, stated)
	if fit.Noise != best.noise {
		if fit, err = sums.At(best.noise); err != nil {
			return nil, err
		}
	}
	law := *fit.Law
	law.Mean = mixed(best.part, q.Mean, law.Mean)
	return &Choice{
		Predictor: pass.Predictor{Part: best.part, Noise: best.noise, Factor: calibration(rows.Y, best.mean, best.variance, best.noise, evidence)},
		Law:       &law, priorRows: len(rows.Y), priorLoss: best.losses / float64(max(1, len(rows.Y))), noiseless: evidence <= fit.Least, condition: fit.Condition,
	}, nil
}

// bestOf returns the first option with the least errors: few losses differ between predictors, so that squares count too.
// It returns the stated one if that is as good.
func bestOf(all []option, stated *pass.Predictor) option {
	const alike = 1 + 1e-9
	best := slices.MinFunc(all, func(a, b option) int { return cmp.Compare(a.errors, b.errors) })
	for _, c := range all {
		if stated != nil && c.part == stated.Part && math.Abs(c.noise-stated.Noise) <= SameNumbers*c.noise && c.errors <= best.errors*alike {
			return c
		}
	}
	return best
}

// errorsOf returns the sum of the losses, and that of losses and capped squared errors.
func errorsOf(l loss.Loss, tolerance float64, y, mean []float64) (losses, errors float64) {
	for i, mean := range mean {
		off := (y[i] - mean) / tolerance
		point, square := l.Point(y[i], mean), off*off
		if !(point <= 1) {
			point = 1
		}
		if !(square <= 1) { // it is NaN where there is no tolerance and no error
			square = 1
		}
		losses, errors = losses+point, errors+point+square
	}
	return losses, errors
}

// Apart returns the largest relative difference between the weights of two correct programs. Their other numbers differ by
// less than [SameNumbers].
func (c *Choice) Apart() float64 {
	return min(mostApart, max(SameWeights, roundings*0x1p-52*c.condition))
}

// mixed returns (1−part)·q + part·least.
func mixed(part float64, q, least []float64) []float64 {
	all := make([]float64, len(q))
	for i := range all {
		all[i] = float64((1-part)*q[i]) + float64(part*least[i])
	}
	return all
}

// LawsAt returns the means and variances of f under p at rows.
func LawsAt(p *model.Posterior, rows model.Rows, workers int) (mean, variance []float64, err error) {
	predictor, err := model.NewPredictor(p, workers)
	if err != nil {
		return nil, nil, err
	}
	defer predictor.Close()
	mean, variance = make([]float64, rows.Len()), make([]float64, rows.Len())
	return mean, variance, predictor.Predict(rows.X, mean, variance)
}

const (
	// calibrated is the share of targets that mean ± 1.96 deviations is to cover.
	calibrated = 0.95
	normal95   = 1.959963984540054
	// supposed is the weight, in rows, of the assumption that the noise is that of the highest evidence.
	supposed = 50
)

// calibration returns the factor of the noise with which mean ± 1.96 deviations covers the share calibrated of the given
// rows and of supposed further rows, whose targets are distributed normally with exactly the variance evidence.
func calibration(y, mean, variance []float64, noise, evidence float64) float64 {
	const least = 0x1p-10
	needed := make([]float64, 0, len(y)+supposed)
	for i := range y {
		off := (y[i] - mean[i]) / normal95
		needed = append(needed, (float64(off*off)-max(0, variance[i]))/noise)
	}
	for i := range supposed {
		off := math.Sqrt2 * math.Erfinv((float64(i)+0.5)/supposed) / normal95
		needed = append(needed, float64(off*off)*(evidence/noise))
	}
	slices.Sort(needed)
	found := needed[min(len(needed), int(math.Ceil(calibrated*float64(len(needed)+1))))-1]
	if !(found < math.MaxFloat64) {
		return 1
	}
	return max(least, found)
}
