package fit

import (
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Parent is the model of an earlier certificate. Its posterior gives start values.
type Parent struct {
	certify.Parent

	From pass.Model
}

// warmUp converts the parent's posterior to the scales of this sample. If the parent is not suitable, for example because
// it has seen held-out rows, warmUp skips it with a warning. checked is true if the parent's rows were compared with
// those of the sample.
func (t *training) warmUp(src dataset.Source, checked bool) error {
	a := t.env.Parent
	if a == nil || !t.job.Train.WarmStart {
		return nil
	}
	if t.job.Split.Holdout > 0 && !checked {
		segments := dataset.SegmentsOf(src)
		if segments == nil || a.HasSeen(segments) {
			return fmt.Errorf("%w: there are held-out rows, and training would begin with the model of certificate %s, which may have seen them", job.ErrConfig, a.Certificate)
		}
	}
	again := ""
	most := model.Config{N: t.firstPass.Split.Train(), Dim: t.start.Dim}.Scheduled().Inducing // the largest default number
	switch meta, m := a.From.Meta, a.From.Posterior.Inducing(); {
	case !t.firstPass.HasColumns(meta, t.job):
		again = "other columns"
	case meta.Isotropic != t.job.Kernel.Isotropic || !slices.Contains(t.job.Kernel.Family, meta.Kernel):
		again = "another kernel"
	case len(t.job.Inducing) > 0 && !slices.Contains(t.job.Inducing, m), len(t.job.Inducing) == 0 && m > most:
		again = words.Count(int64(m), "inducing point")
	}
	if again != "" {
		t.env.Observer.ReportWarning(fmt.Sprintf("training begins again: the model of certificate %s has %s", a.Certificate, again))
		return nil
	}
	var err error
	t.warm, err = ScaledAs(a.From, t.firstPass.Features, t.firstPass.Target)
	return err
}

// begins reports whether a candidate begins with the parent's posterior: it must have the parent's kernel and, if the job
// lists numbers of inducing points, the parent's number.
func (t *training) begins(c model.Config) bool {
	return t.warm != nil && t.warm.Kernel.Family.Name == c.Kernel.Name &&
		(len(t.job.Inducing) == 0 || t.warm.Inducing() == c.Inducing)
}

// ScaledAs returns the model's posterior for rows in other scales. If scale and centre of the target change from s and c
// to s' and c', a value f of the function becomes (s f + c − c')/s'. The variance is thus multiplied by (s/s')²,
// L⁻¹1 (c − c')/s is added to the whitened mean, and the whitened covariance stays. A single lengthscale for all features
// changes by the mean of the logarithms of their changes of scale.
func ScaledAs(m pass.Model, features []job.Affine, target job.Affine) (*model.Posterior, error) {
	old := m.Posterior
	d := old.Dim()
	p := &model.Posterior{
		Kernel: kernel.Kernel{Family: old.Kernel.Family, Lengthscales: make([]float64, d)},
		Z:      make([]float64, len(old.Z)), Mean: slices.Clone(old.Mean), L: slices.Clone(old.L), Factor: old.Factor,
	}
	ratios, logs := make([]float64, 0, d), 0.0
	for i, f := range features {
		was := m.Meta.Features[i]
		for input := range m.Meta.Encode.Of(f.Name).Width() {
			j := len(ratios)
			ratios = append(ratios, was.Scale/f.Scale)
			logs += math.Log(ratios[j])
			for i := j; i < len(old.Z); i += d {
				if p.Z[i] = old.Z[i]; input > 0 { // levels, phases and flags are not scaled
					continue
				}
				p.Z[i] = (float64(old.Z[i]*was.Scale) + was.Centre - f.Centre) / f.Scale
			}
		}
	}
	for j, ratio := range ratios {
		if m.Meta.Isotropic {
			ratio = math.Exp(logs / float64(d))
		}
		p.Kernel.Lengthscales[j] = old.Kernel.Lengthscales[j] * ratio
	}
	was := m.Meta.Target
	ratio := was.Scale / target.Scale
	p.Kernel.Variance, p.Jitter = old.Kernel.Variance*ratio*ratio, old.Jitter*ratio*ratio
	for i, v := range solveOnes(old.L, old.Inducing()) {
		p.Mean[i] += v * (was.Centre - target.Centre) / was.Scale
	}
	for i := range p.L {
		p.L[i] *= ratio
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("start values from another model: %w", err)
	}
	return p, nil
}

// solveOnes solves L x = (1, …, 1) for a lower L [m×m].
func solveOnes(l []float64, m int) []float64 {
	x := make([]float64, m)
	for i := range m {
		sum := 1.0
		for j := range i {
			sum -= float64(l[i*m+j] * x[j])
		}
		x[i] = sum / l[i*m+i]
	}
	return x
}
