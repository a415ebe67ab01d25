package pipeline

import (
	"context"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// predictor demands that the predictor of a model follows from Q and the rows that are not held out.
func (v *Verification) predictor(ctx context.Context, src dataset.Source, s *pass.FirstPass, m pass.Model, declared job.Job, res job.Resources) error {
	f, err := fit.NewStream(src, s, res).Fit(ctx, m.Posterior, s.Split.Train(), res.Workers, nil)
	if err != nil {
		return err
	}
	l, err := pass.ScaledLoss(m.Meta.Loss, m.Meta.Target)
	if err != nil {
		return err
	}
	choice, err := fit.ChoiceOf(m.Posterior, f, l, declared.LossSpec(s.Target), s.Target, s.Scaled(s.Reference), res.Workers)
	if err != nil {
		return err
	}
	stated := m.Meta.Predictor
	want, law := choice.Predictor(declared, &stated.Part)
	far := func(a, b float64) bool { return !(math.Abs(a-b) <= fit.SameNumbers*math.Abs(b)) }
	if stated.Part != want.Part || far(stated.Noise, want.Noise) || far(stated.Factor, want.Factor) {
		return fmt.Errorf("%w: posterior and rows give the predictor %+v, the model has %+v", job.ErrRefused, want, stated)
	}
	most := min(fit.MostApart, max(fit.SameWeights, fit.Roundings*0x1p-52*f.Condition))
	apart := func(found, again []float64) bool {
		var off, size float64
		for j, w := range again {
			off, size = off+(w-found[j])*(w-found[j]), size+w*w
		}
		return !(math.Sqrt(off) <= most*math.Sqrt(size)+fit.SameWeights)
	}
	if apart(m.Predictive.Mean, law.Mean) {
		return fmt.Errorf("%w: posterior and rows give other weights of predictions than the model has", job.ErrRefused)
	}
	different := fmt.Errorf("%w: posterior and rows give other deviations than the model has", job.ErrRefused)
	if apart(m.Predictive.Factor, law.Factor) { // away from the rows
		return different
	}
	_, variance, err := fit.LawsAt(m.Predictive, s.Scaled(s.Start), res.Workers)
	if err != nil {
		return err
	}
	_, again, err := fit.LawsAt(law, s.Scaled(s.Start), res.Workers)
	if err != nil {
		return err
	}
	for i, found := range variance {
		if far(max(0, found)+want.Factor*want.Noise, max(0, again[i])+want.Factor*want.Noise) {
			return different
		}
	}
	return nil
}
