package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// predictor returns an error unless the predictor of a model follows from Q and the rows that are not held out.
func (v *Verification) predictor(ctx context.Context, src dataset.Source, s *pass.FirstPass) error {
	m, res := v.model, v.res
	stated := m.Meta.Predictor
	choice, err := fit.NewStream(src, s, res).Choose(ctx, m.Posterior, s, v.job, res.Workers, &stated, nil)
	if err != nil {
		return err
	}
	want, law := choice.Predictor, choice.Law
	far := func(a, b float64) bool { return !(math.Abs(a-b) <= fit.SameNumbers*math.Abs(b)) }
	if stated.Part != want.Part || far(stated.Noise, want.Noise) || far(stated.Factor, want.Factor) {
		return fmt.Errorf("%w: posterior and rows give a predictor with part, noise and factor %v, %v and %v, the model has %v, %v and %v", job.ErrRefused, want.Part, want.Noise, want.Factor, stated.Part, stated.Noise, stated.Factor)
	}
	most := choice.Apart()
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
	_, again, err2 := fit.LawsAt(law, s.Scaled(s.Start), res.Workers)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	for i, found := range variance {
		if far(max(0, found)+want.Factor*want.Noise, max(0, again[i])+want.Factor*want.Noise) {
			return different
		}
	}
	return nil
}

// unlike returns a warning if the losses on prior rows are far from those on the rows that certify: the source drifts, or
// a publisher who chooses the order of the rows has made hard ones prior rows, which do not count.
func unlike(c certify.Certificate, m pass.Model, prior dataset.RawRows, workers int) (all []string, err error) {
	at := slices.IndexFunc(c.Claims, func(g certify.Claim) bool { return g.Risk != nil })
	if at < 0 || c.Counts.Prior == 0 || c.Counts.Units != nil {
		return nil, nil
	}
	g, n := c.Claims[at], float64(prior.Len())
	scorer, err := pass.NewScorer(m, workers)
	if err != nil {
		return nil, err
	}
	defer scorer.Close()
	w := scorer.Workspace()
	w.GatherRaw(prior)
	score := w.ScoreMeans
	if g.Predictor == certify.PredictorDraw {
		score = w.Score
	}
	err = score()
	mean := 0.0
	for _, loss := range w.Losses() {
		mean += loss / n
	}
	far := func(apart, p float64) bool { return apart > 5*math.Sqrt(max(p*(1-p), 1/n)/n) }
	if far(mean-g.Bound, g.Bound) || far(*g.Risk-mean, *g.Risk) {
		all = []string{fmt.Sprintf("the mean loss is %.3g on the %d prior rows, and %.3g on the rows that certify: rows of one source have about the same, so the source changes, or somebody chose the rows or their order, and the bounds may be too low", mean, prior.Len(), *g.Risk)}
	}
	return all, err
}
