package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

// Training describes the fit, for the run record.
type Training struct {
	Kernel    string     `json:"kernel"`                  // of the chosen candidate
	Inducing  int        `json:"inducing"`                // of the chosen candidate
	Steps     int        `json:"steps"`                   // made by the chosen candidate
	StoppedBy string     `json:"stopped_by"`              // plan (its end, or no more gain) or time
	Hurried   int        `json:"hurried_after,omitempty"` // steps of all candidates up to the time limit; 0: it was not reached
	Machine   string     `json:"machine"`                 // architecture and instruction set, on which the last bits of results depend
	Resumed   bool       `json:"resumed"`
	Noise     float64    `json:"noise_variance,omitempty"` // of a method of the paper: σ_n², in squared scales of the target
	Trace     []Progress `json:"trace"`

	Ancestor *certify.Ancestor `json:"ancestor,omitempty"` // whose posterior training began with
}

// fitted is the outcome of training.
type fitted struct {
	Model    Model
	Training Training
}

// train fits the candidates one after the other and returns the best. Q may depend on all rows:
// choosing among candidates by the bound is free.
func train(ctx context.Context, src Source, s *Survey, job Job, env Environment, began time.Time) (*fitted, error) {
	env.Observer.progress(Progress{Phase: PhaseStart, Elapsed: Seconds(time.Since(began))})
	t, err := newTraining(ctx, src, s, job, env, began)
	if err != nil {
		return nil, err
	}
	return t.run(ctx)
}

// run fits all candidates.
func (t *training) run(ctx context.Context) (*fitted, error) {
	for t.state.Candidate < len(t.candidates) {
		if t.state.Hurried > 0 && len(t.state.Finished) > 0 {
			c := t.candidates[t.state.Candidate]
			t.env.Observer.notice("the time limit leaves no time for " + c.words(c.config.Scheduled().Inducing))
			t.state.Candidate++
			continue
		}
		if err := t.fit(ctx); err != nil {
			return nil, err
		}
	}
	return t.best(ctx)
}

// A training holds what all candidates share.
type training struct {
	declared   Job
	job        Job // for the rows
	env        Environment
	survey     *Survey
	feed       *feed
	loss       loss.Loss // in scaled units
	start      model.Rows
	candidates []candidate
	state      checkpoint
	warm       *model.Posterior // the ancestor's, in the scales of this sample; nil: training begins anew
	began      time.Time        // the run
	entered    time.Time        // its training
	saved      time.Time
	resumed    bool
	late       func() bool // whether the time limit has been reached
}

func newTraining(ctx context.Context, src Source, s *Survey, job Job, env Environment, began time.Time) (*training, error) {
	declared := job
	job = job.ForRows(s.Roles.Rows)
	f, err := newFeed(ctx, src, s, env.Resources)
	if err != nil {
		return nil, err
	}
	t := &training{declared: declared, job: job, env: env, survey: s, feed: f, began: began, entered: time.Now(), saved: time.Now()}
	t.late = func() bool {
		limit := time.Duration(job.Train.Time)
		return limit > 0 && t.spent() > limit
	}
	if steps := env.hurried; steps != nil {
		t.late = func() bool { return int64(len(t.state.Trace)) == *steps }
	}
	if err := job.Mean.near(s.yardstick(), s.Target.Scale); err != nil {
		return nil, err
	}
	t.start = s.scaled(s.start)
	if t.loss, err = scaledLoss(job.lossSpec(s.Target), s.Target); err != nil {
		return nil, err
	}
	if err := t.warmUp(src); err != nil {
		return nil, err
	}
	if t.state, err = newCheckpoint(job, s, t.env.Ancestor); err != nil {
		return nil, err
	}
	return t, t.resume(ctx)
}

// A candidate is a posterior that may be fitted: of a family of kernels, with a number of
// inducing points.
type candidate struct {
	config model.Config
	theta  []certify.Parameter // without indices
}

// words describe the candidate with a number of inducing points.
func (c candidate) words(inducing int) string {
	words := words.Count(inducing, "inducing point")
	if c.config.Choice > 0 {
		words += ", kernel " + c.config.Kernel.Name
	}
	return words
}

// nominate lists the candidates: each number of inducing points with each family.
func (t *training) nominate() error {
	numbers := t.job.Inducing
	if len(numbers) == 0 {
		numbers = []int{0} // the trainer's rule in N
	}
	for _, name := range t.job.Kernel.Family {
		family, err := kernel.Named(name)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
		c, err := t.configure(family)
		if err != nil {
			return err
		}
		for _, m := range numbers {
			c.config.Inducing = m
			c.config.Plan = t.job.plan(c.config.N, c.config.Dim, m)
			if t.begins(c.config) && t.job.Train.Passes == 0 {
				c.config.Plan.Joint = warmSteps(c.config)
			}
			t.candidates = append(t.candidates, c)
		}
	}
	return nil
}

// configure translates the job, with kernels of one family.
func (t *training) configure(family *kernel.Family) (candidate, error) {
	s, job := t.survey, t.job
	theta, err := t.parameters(family)
	if err != nil {
		return candidate{}, err
	}
	c := model.Config{
		Dim: t.start.Dim, N: s.Roles.Train(), Delta: job.Delta * job.Spends().Share(certify.MethodPACBayes).Float(), Loss: t.loss,
		ELBO: t.job.elbo(), Kernel: family, Choice: math.Log(float64(len(job.Kernel.Family))), Scales: s.scales(job),
		Seed: job.Train.Seed, Workers: t.env.Resources.Workers, Starting: t.env.Observer.Starting,
	}
	for _, p := range theta {
		g, err := priced(p.Grid)
		if err != nil {
			return candidate{}, err
		}
		c.Grids = append(c.Grids, g)
	}
	return candidate{config: c, theta: theta}, nil
}

// plan translates the training declaration for n rows to fit, of d features and
// a candidate of m inducing points (0: the trainer's rule).
func (j Job) plan(n int64, d, m int) model.Plan {
	p := model.Plan{Batch: j.Train.Batch}
	if j.Train.Mode == TrainFullPass {
		p.Batch, p.SettleBatch = int(n), int(n)
	}
	if j.Train.Passes > 0 {
		batch := model.Config{N: n, Dim: d, Inducing: m, ELBO: j.elbo(), Plan: p}.Scheduled().Plan.Batch
		p.Joint = max(1, int(math.Round(j.Train.Passes*float64(n)/float64(batch))))
	}
	return p
}

// parameters are those of a family. The centre of a job with one family is kept.
func (t *training) parameters(family *kernel.Family) ([]certify.Parameter, error) {
	theta, centre, err := parameters(t.job, t.survey, family, t.state.Centre, t.env.Resources.Workers)
	if len(t.job.Kernel.Family) == 1 {
		t.state.Centre = centre
	}
	return theta, err
}

// parameters declares the grid of each hyper-parameter. The centre of a peaked
// prior is the estimate of the reference rows alone; nil: it is not known yet.
func parameters(job Job, s *Survey, family *kernel.Family, centre []float64, workers int) ([]certify.Parameter, []float64, error) {
	features := make([]string, len(s.Features))
	for i, f := range s.Features {
		features[i] = f.Name
	}
	names := certify.ParameterNames(features, !job.Kernel.Isotropic)
	theta := make([]certify.Parameter, len(names))
	for i, name := range names {
		theta[i] = certify.Parameter{Name: name, Grid: job.Grid.flat()}
	}
	if job.Grid.Prior != certify.PriorPeaked {
		return theta, nil, nil
	}
	if err := certify.CheckSize(slices.Repeat([]certify.Parameter{{Grid: job.Grid.peaked(0)}}, len(theta))); err != nil {
		return nil, nil, fmt.Errorf("%w: grid: %w", ErrConfig, err)
	}
	if len(centre) != len(theta) {
		var err error
		if centre, err = estimate(job, s, family, workers); err != nil {
			return nil, nil, err
		}
	}
	for i := range theta {
		theta[i].Grid = job.Grid.peaked(job.Grid.peak(centre[i]))
	}
	return theta, centre, nil
}

// estimate is the maximum-likelihood estimate of ln θ on the reference rows.
// The bound prefers smoother functions than the likelihood: the centre has 1.5 times the
// lengthscales.
func estimate(job Job, s *Survey, family *kernel.Family, workers int) ([]float64, error) {
	e, err := model.Estimate(s.scaled(s.reference), family, s.scales(job), workers)
	if err != nil {
		return nil, fmt.Errorf("pipeline: centre of the peaked prior, from %d reference rows: %w", s.reference.n, err)
	}
	centre := append([]float64(nil), e.Theta...)
	for i := range len(centre) - 1 {
		centre[i] += math.Log(1.5)
	}
	return centre, nil
}

// priced gives a grid the prices of its values in nats.
func priced(g certify.Grid) (model.Grid, error) {
	out := model.Grid{Min: g.Min, Step: g.Step, Count: g.Count}
	if g.Prior == certify.PriorFlat {
		return out, nil
	}
	prices, err := g.LnInverseWeights()
	if err != nil {
		return out, fmt.Errorf("pipeline: %w", err)
	}
	out.LnInverseWeights = prices
	return out, nil
}

// fit trains the current candidate to its end, from its checkpoint if there is one.
func (t *training) fit(ctx context.Context) error {
	trainer, err := t.newTrainer(t.candidates[t.state.Candidate], t.state.Trainer)
	if err != nil {
		return err
	}
	defer trainer.Close()
	batches := &shuffled{feed: t.feed, buffer: t.job.Train.Buffer, seed: t.job.Train.Seed, taken: t.state.Taken}
	defer batches.close()
	for !trainer.Done() {
		if err := ctx.Err(); err != nil {
			return errors.Join(t.interrupted(ctx, trainer), err)
		}
		if err := t.step(ctx, trainer, batches); err != nil {
			return err
		}
		t.state.Taken = batches.taken
		if err := t.checkpointIfDue(ctx, trainer); err != nil {
			return err
		}
	}
	state, err := trainer.MarshalBinary()
	if err != nil {
		return err
	}
	t.state.Finished = append(t.state.Finished, state)
	t.state.Candidate++
	t.state.Trainer, t.state.Taken = nil, 0
	return t.save(ctx)
}

// step makes one step of a trainer: a full pass or a mini-batch.
func (t *training) step(ctx context.Context, trainer trainer, batches *shuffled) error {
	if err := trainer.Begin(); err != nil {
		return err
	}
	// A step is finished even if the run is stopped, so that the checkpoint then
	// has it; a second signal ends the process.
	ctx = context.WithoutCancel(ctx)
	switch pass := trainer.Want(); pass.Kind {
	case model.FullPass:
		if err := t.feed.full(ctx, trainer.Add); err != nil {
			return err
		}
	case model.MiniBatch:
		x, y, err := batches.take(ctx, pass.Rows)
		if err != nil {
			return err
		}
		if err := inChunks(x, y, trainer.Add); err != nil {
			return err
		}
	}
	if err := trainer.End(); err != nil {
		return err
	}
	t.record(trainer)
	if t.state.Hurried == 0 && t.late() {
		t.state.Hurried = len(t.state.Trace)
		trainer.Settle()
	}
	return nil
}

// record adds a step to the trace.
func (t *training) record(trainer trainer) {
	p := trainer.Progress()
	progress := Progress{
		Phase: PhaseTrain, Inducing: trainer.Inducing(), Stage: p.Phase.String(), Step: p.Step, Steps: p.Steps,
		Bound: p.Bound, Risk: p.Risk, KL: p.KL, Elapsed: Seconds(time.Since(t.began)),
	}
	t.state.Trace = append(t.state.Trace, progress)
	t.env.Observer.progress(progress)
}

// interrupted keeps the steps that were made.
func (t *training) interrupted(ctx context.Context, trainer trainer) error {
	if err := t.checkpoint(ctx, trainer); err != nil {
		return fmt.Errorf("interrupted, and the last steps are lost: %w", err)
	}
	return nil
}

// best returns the fitted candidate with the lowest bound. With several candidates a full pass
// computes the risk of each.
func (t *training) best(ctx context.Context) (*fitted, error) {
	var chosen *fitted
	least := math.Inf(1)
	for i, state := range t.state.Finished {
		f, err := t.finish(t.candidates[i], state)
		if err != nil {
			return nil, err
		}
		if len(t.state.Finished) == 1 {
			chosen = f
			break
		}
		bound, err := t.bound(ctx, f.Model)
		if err != nil {
			return nil, err
		}
		t.env.Observer.event(fmt.Sprintf("%s: bound about %.4f", t.candidates[i].words(f.Training.Inducing), bound))
		if bound < least || chosen == nil {
			chosen, least = f, bound
		}
	}
	return chosen, t.predictor(ctx, &chosen.Model)
}

// bound is the bound of a model before the last pass, by its risk on the rows that it was fitted to.
func (t *training) bound(ctx context.Context, m Model) (float64, error) {
	s, err := newScorer(m, t.env.Resources.Workers)
	if err != nil {
		return 0, err
	}
	defer s.close()
	w := workspace{of: s}
	var risk certify.RiskSum
	err = t.feed.full(ctx, func(x, y []float64) error {
		w.gatherScaled(x, y)
		rows, err := w.score()
		if err != nil {
			return err
		}
		for _, upper := range rows.hi {
			if err := risk.Add(upper); err != nil {
				return err
			}
		}
		return nil
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
	b, err := certify.Bound(certify.Terms{Risk: risk.Upper(), KL: kl, LnInverseWeight: weight, N: t.survey.Roles.Train(), Delta: t.job.Delta, Share: t.job.Spends().Share(certify.MethodPACBayes)})
	return b.Upper, err
}

// finish makes the model of a finished trainer.
func (t *training) finish(c candidate, state []byte) (*fitted, error) {
	trainer, err := t.newTrainer(c, state)
	if err != nil {
		return nil, err
	}
	defer trainer.Close()
	posterior, indices, err := trainer.Result()
	if err != nil {
		return nil, err
	}
	if text := trainer.Notice(); text != "" {
		t.env.Observer.notice(text)
	}
	theta := slices.Clone(c.theta)
	for i := range theta {
		theta[i].Index = indices[i]
	}
	job := t.job
	job.Encode = t.survey.Encode
	meta, err := describe(job, t.survey.Features, t.survey.Target, theta, posterior)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	training := Training{
		Kernel: meta.Kernel, Inducing: posterior.Inducing(), Steps: trainer.Progress().Step, StoppedBy: "plan",
		Hurried: t.state.Hurried, Machine: machine(), Resumed: t.resumed, Trace: t.state.Trace,
	}
	if t.warm != nil {
		training.Ancestor = &t.env.Ancestor.Ancestor
	}
	if t.state.Hurried > 0 {
		training.StoppedBy = "time"
	}
	if c, ok := trainer.(*model.Collapsed); ok {
		training.Noise = c.Noise()
	}
	return &fitted{Model{Meta: meta, Posterior: posterior}, training}, nil
}

// inChunks calls add with chunkRows rows at a time.
func inChunks(x, y []float64, add func(x, y []float64) error) error {
	if len(y) == 0 {
		return errors.New("pipeline: an empty batch")
	}
	d := len(x) / len(y)
	for len(y) > 0 {
		k := min(chunkRows, len(y))
		if err := add(x[:k*d], y[:k]); err != nil {
			return err
		}
		x, y = x[k*d:], y[k:]
	}
	return nil
}

// spent is the time of training without the first pass, in this process and earlier ones.
func (t *training) spent() time.Duration { return t.state.Spent + time.Since(t.entered) }
