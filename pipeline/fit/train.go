package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// Train trains a model after a first pass over a source, and resumes from the checkpoint if there is one. It fits the
// candidates one after the other and returns the best. The choice among candidates costs nothing in the bound, because Q
// may depend on all rows. The ports of env may be nil. If steps is not nil, the training of a certificate is repeated: the
// certificate names the parent's rows, so that they are checked, and training stops after *steps steps as by the time
// limit, or not at all if *steps is 0. If steps is nil, the clock decides.
func Train(ctx context.Context, src dataset.Source, s *pass.FirstPass, j job.Job, env Environment, began time.Time, steps *int64) (m pass.Model, how pass.Training, err error) {
	t, err := newTraining(ctx, src, s, j, env, began, steps)
	if err != nil {
		return m, how, err
	}
	return t.run(ctx)
}

// run fits the candidates, and returns the best with its predictor.
func (t *training) run(ctx context.Context) (m pass.Model, how pass.Training, err error) {
	for t.state.candidate < len(t.candidates) {
		if t.state.stoppedAfter > 0 && len(t.state.finished) > 0 {
			c := t.candidates[t.state.candidate]
			t.env.Observer.ReportWarning("the time limit leaves no time for " + c.words(c.config.Scheduled().Inducing))
			t.state.candidate++
			continue
		}
		if err := t.fit(ctx); err != nil {
			return m, how, err
		}
	}
	return t.best(ctx)
}

// A training holds what the candidates have in common.
type training struct {
	job        job.Job // for the rows
	env        Environment
	firstPass  *pass.FirstPass
	feed       *Feed
	loss       loss.Loss // in scaled units
	start      model.Rows
	candidates []candidate
	state      checkpoint
	warm       *model.Posterior // the parent's posterior in the scales of this sample; nil if training begins without a model
	began      time.Time        // when the run began
	entered    time.Time        // when training began in this process
	saved      time.Time
	resumed    bool
	late       func() bool // whether the time limit has been reached
	choice     *Choice     // of the predictor; nil before it is made
}

// newTraining prepares a training for [Train].
func newTraining(ctx context.Context, src dataset.Source, s *pass.FirstPass, job job.Job, env Environment, began time.Time, steps *int64) (*training, error) {
	job = job.ForRows(s.Split.Rows)
	f, err := NewFeed(ctx, src, s, env.Resources)
	if err != nil {
		return nil, err
	}
	t := &training{job: job, env: env, firstPass: s, feed: f, began: began, entered: time.Now(), saved: time.Now()}
	t.late = func() bool {
		limit := time.Duration(job.Train.Time)
		return limit > 0 && t.spent() > limit
	}
	if steps != nil {
		t.late = func() bool { return int64(len(t.state.trace)) == *steps }
	}
	if err := dataset.NearMean(job.Mean, s.BaselineRows(), s.Target.Scale); err != nil {
		return nil, err
	}
	t.start = s.Scaled(s.Start)
	if t.loss, err = pass.ScaledLoss(job.LossSpec(s.Target), s.Target); err != nil {
		return nil, err
	}
	if err := t.warmUp(src, steps != nil); err != nil {
		return nil, err
	}
	configuration, err := job.Digest()
	if err != nil {
		return nil, err
	}
	t.state = checkpoint{configuration: checkpointVersion + configuration.String(), sample: s.Digest.String(), instructions: model.InstructionSet()}
	if job.Train.WarmStart && env.Parent != nil {
		t.state.configuration += " from " + env.Parent.Model
	}
	return t, t.resume(ctx)
}

// A candidate is a family of kernels with a number of inducing points, for which a posterior is fitted.
type candidate struct {
	config model.Config
	theta  []certify.Parameter // grids only, without indices
}

// words describes the candidate, with this number of inducing points, for messages.
func (c candidate) words(inducing int) string {
	words := words.Count(inducing, "inducing point")
	if c.config.Choice > 0 {
		words += ", kernel " + c.config.Kernel.Name
	}
	return words
}

// nominate sets the candidates: each number of inducing points with each family.
func (t *training) nominate() error {
	s, j := t.firstPass, t.job
	for _, name := range j.Kernel.Family {
		family, err := kernel.Named(name)
		if err != nil {
			return fmt.Errorf("%w: %w", job.ErrConfig, err)
		}
		theta, centre, err := parameters(j, s, family, t.state.centre, t.env.Resources.Workers)
		if err != nil {
			return err
		}
		if len(j.Kernel.Family) == 1 { // otherwise each family has a centre of its own
			t.state.centre = centre
		}
		c := model.Config{
			Dim: t.start.Dim, N: s.Split.Train(), Examples: s.Split.Examples(), Delta: j.Delta * j.Spends().Share(certify.MethodPACBayes).Float(), Loss: t.loss,
			ELBO: j.Elbo(), Kernel: family, Choice: math.Log(float64(len(j.Kernel.Family))), Scales: s.Scales(j),
			Seed: j.Train.Seed, Workers: t.env.Resources.Workers, Starting: t.env.Observer.Starting,
		}
		for _, p := range theta {
			g := model.Grid{Min: p.Grid.Min, Step: p.Grid.Step, Count: p.Grid.Count}
			if p.Grid.Prior != certify.PriorFlat {
				if g.LnInverseWeights, err = p.Grid.LnInverseWeights(); err != nil {
					return err
				}
			}
			c.Grids = append(c.Grids, g)
		}
		for _, m := range sizes(j) {
			c.Inducing, c.Plan = m, planOf(j, c.N, c.Dim, m)
			if t.begins(c) && j.Train.Passes == 0 { // θ and Z move in a quarter of the steps of others
				c.Plan.Joint = max(1, c.Scheduled().Plan.Joint/4)
			}
			t.candidates = append(t.candidates, candidate{c, theta})
		}
	}
	return nil
}

// parameters returns the grid of each hyper-parameter, and the centre of a peaked prior. If centre is nil, it is estimated
// on the prior rows.
func parameters(j job.Job, s *pass.FirstPass, family *kernel.Family, centre []float64, workers int) ([]certify.Parameter, []float64, error) {
	names := certify.ParameterNames(dataset.NamesOf(s.Features), j.Kernel.Isotropic)
	theta := make([]certify.Parameter, len(names))
	for i, name := range names {
		theta[i] = certify.Parameter{Name: name, Grid: j.Grid.Flat()}
	}
	if j.Grid.Prior != certify.PriorPeaked {
		return theta, nil, nil
	}
	const most = 1 << 23 // some microseconds each
	if values := len(theta) * j.Grid.Peaked(0).Count; values > most {
		return nil, nil, fmt.Errorf("%w: grid: %d parameters with %d values in all, want at most %d: a coarser step makes fewer", job.ErrConfig, len(theta), values, most)
	}
	if len(centre) != len(theta) {
		var err error
		if centre, err = Estimate(j, s, family, workers); err != nil {
			return nil, nil, err
		}
	}
	for i := range theta {
		theta[i].Grid = j.Grid.Peaked(j.Grid.Peak(centre[i], math.Round))
	}
	return theta, centre, nil
}

// Estimate returns the centre of a peaked prior for ln θ: the maximum-likelihood estimate on the prior rows, with
// lengthscales multiplied by 1.5, because the bound prefers smoother functions than the likelihood.
func Estimate(job job.Job, s *pass.FirstPass, family *kernel.Family, workers int) ([]float64, error) {
	e, err := model.Estimate(s.Scaled(s.Prior), family, s.Scales(job), workers)
	if err != nil {
		return nil, fmt.Errorf("centre of the peaked prior, from %d prior rows: %w", s.Prior.Len(), err)
	}
	centre := append([]float64(nil), e.Theta...)
	for i := range len(centre) - 1 {
		centre[i] += math.Log(1.5)
	}
	return centre, nil
}

// fit trains the current candidate to its end, from its checkpoint if there is one.
func (t *training) fit(ctx context.Context) error {
	trainer, err := t.newTrainer(t.candidates[t.state.candidate], t.state.trainer)
	if err != nil {
		return err
	}
	defer trainer.Close()
	batches := t.feed.Shuffled(t.job.Train.Seed, t.job.Train.Buffer, t.state.taken)
	defer batches.Close()
	for !trainer.Done() {
		if err := ctx.Err(); err != nil {
			if lost := t.checkpoint(ctx, trainer); lost != nil {
				return errors.Join(&LostError{fmt.Errorf("the steps since then are lost: %w", lost)}, err)
			}
			return err
		}
		if err := t.step(ctx, trainer, batches); err != nil {
			return err
		}
		t.state.taken = batches.taken
		if time.Since(t.saved) < t.env.Resources.Checkpoint {
			continue
		}
		if err := t.checkpoint(ctx, trainer); err != nil {
			return err
		}
	}
	state, err := trainer.MarshalBinary()
	if err != nil {
		return err
	}
	t.state.finished = append(t.state.finished, state)
	t.state.candidate++
	t.state.trainer, t.state.taken = nil, 0
	return t.save(ctx)
}

// A LostError says why the last steps of an interrupted training are not in its checkpoint.
type LostError struct{ error }

// newTrainer returns the trainer of a candidate, from its state if there is one.
func (t *training) newTrainer(c candidate, state []byte) (trainer, error) {
	if t.job.Train.Method == job.MethodFreeForm {
		if state != nil {
			return model.ResumeTrainer(c.config, state)
		}
		if t.begins(c.config) {
			return model.NewTrainerFrom(c.config, t.warm, t.start)
		}
		return model.NewTrainer(c.config, t.start)
	}
	config := collapsed(t.job.Train, c.config)
	if state != nil {
		return model.ResumeCollapsed(config, state)
	}
	if rows := t.start.Len(); config.Exact && (rows > certify.MaxInducing || int64(rows) < config.N) {
		return nil, job.TooManyForExact(t.job.Train.Method, max(int64(rows), config.N))
	}
	return model.NewCollapsed(config, t.start)
}

// step makes one step of a trainer: a full pass or a mini-batch.
func (t *training) step(ctx context.Context, trainer trainer, batches *Shuffled) error {
	if err := trainer.Begin(); err != nil {
		return err
	}
	// A step is finished even if the run is stopped, so that the checkpoint includes it. A second signal ends the
	// process at once.
	ctx = context.WithoutCancel(ctx)
	switch pass := trainer.Want(); pass.Kind {
	case model.FullPass:
		if err := t.feed.Chunks(ctx, nil, trainer.Add); err != nil {
			return err
		}
	case model.MiniBatch:
		x, y, err := batches.Take(ctx, pass.Rows)
		if err != nil {
			return err
		}
		for from := 0; from < len(y); from += chunkRows {
			to := min(from+chunkRows, len(y))
			if err := trainer.Add(x[from*t.start.Dim:to*t.start.Dim], y[from:to]); err != nil {
				return err
			}
		}
	}
	if err := trainer.End(); err != nil {
		return err
	}
	p := trainer.Progress()
	progress := job.Progress{
		Phase: job.PhaseTrain, Inducing: trainer.Inducing(), Stage: p.Phase.String(), Step: p.Step, Steps: p.Steps,
		Bound: p.Bound, Risk: p.Risk, KL: p.KL, Elapsed: job.Seconds(time.Since(t.began)),
	}
	t.state.trace = append(t.state.trace, progress)
	t.env.Observer.ReportProgress(progress)
	if t.state.stoppedAfter == 0 && t.late() {
		t.state.stoppedAfter = len(t.state.trace)
		trainer.Settle()
	}
	return nil
}

// best returns the fitted candidate with the lowest bound. If there are several candidates, it reads the training rows, or
// enough of them, to compute the risk of each.
func (t *training) best(ctx context.Context) (m pass.Model, how pass.Training, err error) {
	least := math.Inf(1)
	for i, state := range t.state.finished {
		one, its, err := t.finish(t.candidates[i], state)
		if err != nil {
			return m, how, err
		}
		bound := 0.0
		if len(t.state.finished) > 1 {
			if bound, err = t.bound(ctx, one); err != nil {
				return m, how, err
			}
			t.env.Observer.ReportEvent(fmt.Sprintf("%s: bound about %.4f", t.candidates[i].words(its.Inducing), bound))
		}
		if bound < least || i == 0 {
			m, how, least = one, its, bound
		}
	}
	return m, how, t.predictor(ctx, &m)
}

// bound returns an estimate of a model's bound, by its risk on the training rows or enough of them.
func (t *training) bound(ctx context.Context, m pass.Model) (float64, error) {
	s, err := pass.NewScorer(m, t.env.Resources.Workers)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	w := s.Workspace()
	var risk certify.RiskSum
	shards, _ := t.feed.enough(t.job.Split.Key)
	err = t.feed.Chunks(ctx, shards, func(x, y []float64) error {
		w.GatherScaled(x, y)
		if err := w.Score(); err != nil {
			return err
		}
		return w.AddTo(&risk)
	})
	if err != nil {
		return 0, err
	}
	kl, err := certify.GaussianKL(m.Posterior.Mean, m.Posterior.Factor, m.Posterior.Inducing())
	if err != nil {
		return 0, err
	}
	weight, err := certify.LnInverseWeight(len(t.job.Kernel.Family), m.Meta.Theta)
	if err != nil {
		return 0, err
	}
	b, err := certify.Bound(certify.Terms{Risk: risk.Upper(), KL: kl, LnInverseWeight: weight, N: t.firstPass.Split.Examples(), Delta: t.job.Delta, Share: t.job.Spends().Share(certify.MethodPACBayes)})
	return b.Upper, err
}

// finish makes the model of a finished trainer.
func (t *training) finish(c candidate, state []byte) (m pass.Model, how pass.Training, err error) {
	trainer, err := t.newTrainer(c, state)
	if err != nil {
		return m, how, err
	}
	defer trainer.Close()
	posterior, indices, err := trainer.Result()
	if err != nil {
		return m, how, err
	}
	if text := trainer.Warning(); text != "" {
		t.env.Observer.ReportWarning(text)
	}
	theta := slices.Clone(c.theta)
	for i := range theta {
		theta[i].Index = indices[i]
	}
	meta, err := t.firstPass.Describe(t.job, theta, posterior)
	if err != nil {
		return m, how, err
	}
	how = pass.Training{
		Training: certify.Training{Machine: Machine(), StoppedAfter: int64(t.state.stoppedAfter)},
		Kernel:   meta.Kernel, Inducing: posterior.Inducing(), Steps: trainer.Progress().Step, StoppedBy: "plan",
		Resumed: t.resumed, Trace: t.state.trace,
	}
	if t.warm != nil {
		how.Parent = &t.env.Parent.Parent
	}
	if t.state.stoppedAfter > 0 {
		how.StoppedBy = "time"
	}
	if c, ok := trainer.(*model.Collapsed); ok {
		how.Noise = c.Noise()
	}
	return pass.Model{Meta: meta, Posterior: posterior}, how, nil
}

// predictor completes a fitted model by its predictor.
func (t *training) predictor(ctx context.Context, m *pass.Model) error {
	t.env.Observer.ReportProgress(job.Progress{Phase: job.PhasePredictor, Elapsed: job.Seconds(time.Since(t.began))})
	c, err := t.feed.Choose(ctx, m.Posterior, t.firstPass, t.job, t.env.Resources.Workers, nil, t.env.Observer.Fitting)
	if err != nil {
		return err
	}
	t.choice = c
	if c.noiseless {
		t.env.Observer.ReportWarning("the rows show no noise: the model has the least that its arithmetic can carry")
	}
	if t.job.Mean.Given() && t.job.Split.Outside == 0 {
		t.env.Observer.ReportWarning("predictive deviations may be too small: they come from prior rows, to which the column of the mean may have been fitted (hint: set split.outside; no claim of the certificate rests on deviations)")
	}
	m.Meta.Predictor, m.Predictive = c.Predictor, c.Law
	return nil
}

// spent returns the time of training without the first pass, in this process and earlier ones.
func (t *training) spent() time.Duration { return t.state.spent + time.Since(t.entered) }

// Machine returns a text that names what the rounding of training depends on: the architecture, its level if the compiler
// may fuse multiplication and addition by it, and the instruction set of the linear algebra.
func Machine() string {
	level := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOAMD64" && s.Value != "v1" {
				level = s.Value
			}
		}
	}
	return runtime.GOARCH + level + "/" + model.InstructionSet()
}
