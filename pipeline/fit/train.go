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

// Fitted is the outcome of training.
type Fitted struct {
	Model    pass.Model
	Training pass.Training
}

// train fits the candidates one after the other and returns the best. Q may depend on all rows:
// choosing among candidates by the bound is free.
func train(ctx context.Context, src dataset.Source, s *pass.FirstPass, j job.Job, env Environment, began time.Time) (*Fitted, error) {
	env.Observer.ReportProgress(job.Progress{Phase: job.PhaseStart, Elapsed: job.Seconds(time.Since(began))})
	t, err := NewTraining(ctx, src, s, j, env, began)
	if err != nil {
		return nil, err
	}
	return t.Run(ctx)
}

// Run fits all candidates.
func (t *Training) Run(ctx context.Context) (*Fitted, error) {
	for t.state.Candidate < len(t.candidates) {
		if t.state.StoppedAfter > 0 && len(t.state.Finished) > 0 {
			c := t.candidates[t.state.Candidate]
			t.env.Observer.ReportWarning("the time limit leaves no time for " + c.words(c.config.Scheduled().Inducing))
			t.state.Candidate++
			continue
		}
		if err := t.fit(ctx); err != nil {
			return nil, err
		}
	}
	return t.best(ctx)
}

// A Training holds what all candidates share.
type Training struct {
	Job        job.Job // for the rows
	env        Environment
	FirstPass  *pass.FirstPass
	Feed       *Feed
	Loss       loss.Loss // in scaled units
	start      model.Rows
	candidates []candidate
	state      checkpoint
	warm       *model.Posterior // the parent's, in the scales of this sample; nil: training begins again
	began      time.Time        // the run
	entered    time.Time        // its training
	saved      time.Time
	resumed    bool
	late       func() bool // whether the time limit has been reached
}

// NewTraining prepares a training, from its checkpoint if there is one.
func NewTraining(ctx context.Context, src dataset.Source, s *pass.FirstPass, job job.Job, env Environment, began time.Time) (*Training, error) {
	job = job.ForRows(s.Split.Rows)
	f, err := NewFeed(ctx, src, s, env.Resources)
	if err != nil {
		return nil, err
	}
	t := &Training{Job: job, env: env, FirstPass: s, Feed: f, began: began, entered: time.Now(), saved: time.Now()}
	t.late = func() bool {
		limit := time.Duration(job.Train.Time)
		return limit > 0 && t.spent() > limit
	}
	if steps := env.StoppedAfter; steps != nil {
		t.late = func() bool { return int64(len(t.state.Trace)) == *steps }
	}
	if err := dataset.NearMean(job.Mean, s.BaselineRows(), s.Target.Scale); err != nil {
		return nil, err
	}
	t.start = s.Scaled(s.Start)
	if t.Loss, err = pass.ScaledLoss(job.LossSpec(s.Target), s.Target); err != nil {
		return nil, err
	}
	if err := t.warmUp(src); err != nil {
		return nil, err
	}
	if t.state, err = newCheckpoint(job, s, t.env.Parent); err != nil {
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

// words describes the candidate, with its number of inducing points, in a message.
func (c candidate) words(inducing int) string {
	words := words.Count(inducing, "inducing point")
	if c.config.Choice > 0 {
		words += ", kernel " + c.config.Kernel.Name
	}
	return words
}

// nominate lists the candidates: each number of inducing points with each family.
func (t *Training) nominate() error {
	numbers := t.Job.Inducing
	if len(numbers) == 0 {
		numbers = []int{0} // the trainer's rule in N
	}
	for _, name := range t.Job.Kernel.Family {
		family, err := kernel.Named(name)
		if err != nil {
			return fmt.Errorf("%w: %w", job.ErrConfig, err)
		}
		c, err := t.configure(family)
		if err != nil {
			return err
		}
		for _, m := range numbers {
			c.config.Inducing = m
			c.config.Plan = planOf(t.Job, c.config.N, c.config.Dim, m)
			if t.begins(c.config) && t.Job.Train.Passes == 0 {
				c.config.Plan.Joint = warmSteps(c.config)
			}
			t.candidates = append(t.candidates, c)
		}
	}
	return nil
}

// configure translates the job, with kernels of one family.
func (t *Training) configure(family *kernel.Family) (candidate, error) {
	s, job := t.FirstPass, t.Job
	theta, err := t.parameters(family)
	if err != nil {
		return candidate{}, err
	}
	c := model.Config{
		Dim: t.start.Dim, N: s.Split.Train(), Delta: job.Delta * job.Spends().Share(certify.MethodPACBayes).Float(), Loss: t.Loss,
		ELBO: t.Job.Elbo(), Kernel: family, Choice: math.Log(float64(len(job.Kernel.Family))), Scales: s.Scales(job),
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

// planOf translates the training declaration for n rows to fit, of d features and
// a candidate of m inducing points (0: the trainer's rule).
func planOf(j job.Job, n int64, d, m int) model.Plan {
	p := model.Plan{Batch: j.Train.Batch}
	if j.Train.Mode == job.TrainFullPass {
		p.Batch, p.SettleBatch = int(n), int(n)
	}
	if j.Train.Passes > 0 {
		batch := model.Config{N: n, Dim: d, Inducing: m, ELBO: j.Elbo(), Plan: p}.Scheduled().Plan.Batch
		p.Joint = max(1, int(math.Round(j.Train.Passes*float64(n)/float64(batch))))
	}
	return p
}

// parameters are those of a family. The centre of a job with one family is kept.
func (t *Training) parameters(family *kernel.Family) ([]certify.Parameter, error) {
	theta, centre, err := parameters(t.Job, t.FirstPass, family, t.state.Centre, t.env.Resources.Workers)
	if len(t.Job.Kernel.Family) == 1 {
		t.state.Centre = centre
	}
	return theta, err
}

// parameters declares the grid of each hyper-parameter. The centre of a peaked
// prior is the estimate of the prior rows alone; nil: it is not known yet.
func parameters(j job.Job, s *pass.FirstPass, family *kernel.Family, centre []float64, workers int) ([]certify.Parameter, []float64, error) {
	features := make([]string, len(s.Features))
	for i, f := range s.Features {
		features[i] = f.Name
	}
	names := certify.ParameterNames(features, j.Kernel.Isotropic)
	theta := make([]certify.Parameter, len(names))
	for i, name := range names {
		theta[i] = certify.Parameter{Name: name, Grid: j.Grid.Flat()}
	}
	if j.Grid.Prior != certify.PriorPeaked {
		return theta, nil, nil
	}
	if err := certify.CheckSize(slices.Repeat([]certify.Parameter{{Grid: j.Grid.Peaked(0)}}, len(theta))); err != nil {
		return nil, nil, fmt.Errorf("%w: grid: %w", job.ErrConfig, err)
	}
	if len(centre) != len(theta) {
		var err error
		if centre, err = Estimate(j, s, family, workers); err != nil {
			return nil, nil, err
		}
	}
	for i := range theta {
		theta[i].Grid = j.Grid.Peaked(j.Grid.Peak(centre[i]))
	}
	return theta, centre, nil
}

// Estimate is the maximum-likelihood estimate of ln θ on the prior rows.
// The bound prefers smoother functions than the likelihood: the centre has 1.5 times the
// lengthscales.
func Estimate(job job.Job, s *pass.FirstPass, family *kernel.Family, workers int) ([]float64, error) {
	e, err := model.Estimate(s.Scaled(s.Reference), family, s.Scales(job), workers)
	if err != nil {
		return nil, fmt.Errorf("pipeline: centre of the peaked prior, from %d prior rows: %w", s.Reference.N, err)
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
func (t *Training) fit(ctx context.Context) error {
	trainer, err := t.newTrainer(t.candidates[t.state.Candidate], t.state.Trainer)
	if err != nil {
		return err
	}
	defer trainer.Close()
	batches := &Shuffled{Feed: t.Feed, Buffer: t.Job.Train.Buffer, Seed: t.Job.Train.Seed, Taken: t.state.Taken}
	defer batches.Close()
	for !trainer.Done() {
		if err := ctx.Err(); err != nil {
			return errors.Join(t.interrupted(ctx, trainer), err)
		}
		if err := t.step(ctx, trainer, batches); err != nil {
			return err
		}
		t.state.Taken = batches.Taken
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
func (t *Training) step(ctx context.Context, trainer trainer, batches *Shuffled) error {
	if err := trainer.Begin(); err != nil {
		return err
	}
	// A step is finished even if the run is stopped, so that the checkpoint then
	// has it; a second signal ends the process.
	ctx = context.WithoutCancel(ctx)
	switch pass := trainer.Want(); pass.Kind {
	case model.FullPass:
		if err := t.Feed.Full(ctx, trainer.Add); err != nil {
			return err
		}
	case model.MiniBatch:
		x, y, err := batches.Take(ctx, pass.Rows)
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
	if t.state.StoppedAfter == 0 && t.late() {
		t.state.StoppedAfter = len(t.state.Trace)
		trainer.Settle()
	}
	return nil
}

// record adds a step to the trace.
func (t *Training) record(trainer trainer) {
	p := trainer.Progress()
	progress := job.Progress{
		Phase: job.PhaseTrain, Inducing: trainer.Inducing(), Stage: p.Phase.String(), Step: p.Step, Steps: p.Steps,
		Bound: p.Bound, Risk: p.Risk, KL: p.KL, Elapsed: job.Seconds(time.Since(t.began)),
	}
	t.state.Trace = append(t.state.Trace, progress)
	t.env.Observer.ReportProgress(progress)
}

// interrupted keeps the steps that were made.
func (t *Training) interrupted(ctx context.Context, trainer trainer) error {
	if err := t.checkpoint(ctx, trainer); err != nil {
		return fmt.Errorf("interrupted, and the last steps are lost: %w", err)
	}
	return nil
}

// best returns the fitted candidate with the lowest bound. With several candidates a full pass
// computes the risk of each.
func (t *Training) best(ctx context.Context) (*Fitted, error) {
	var chosen *Fitted
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
		t.env.Observer.ReportEvent(fmt.Sprintf("%s: bound about %.4f", t.candidates[i].words(f.Training.Inducing), bound))
		if bound < least || chosen == nil {
			chosen, least = f, bound
		}
	}
	return chosen, t.Predictor(ctx, &chosen.Model)
}

// bound is about the bound of a model, by its risk on the training rows or enough of them.
func (t *Training) bound(ctx context.Context, m pass.Model) (float64, error) {
	s, err := pass.NewScorer(m, t.env.Resources.Workers)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	w := pass.Workspace{Of: s}
	var risk certify.RiskSum
	shards, _ := t.Feed.enough(t.Job.Split.Key)
	err = t.Feed.chunks(ctx, shards, func(x, y []float64) error {
		w.GatherScaled(x, y)
		rows, err := w.Score()
		if err != nil {
			return err
		}
		for _, upper := range rows.Hi {
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
	weight, err := certify.LnInverseWeight(len(t.Job.Kernel.Family), m.Meta.Theta)
	if err != nil {
		return 0, err
	}
	b, err := certify.Bound(certify.Terms{Risk: risk.Upper(), KL: kl, LnInverseWeight: weight, N: t.FirstPass.Split.Train(), Delta: t.Job.Delta, Share: t.Job.Spends().Share(certify.MethodPACBayes)})
	return b.Upper, err
}

// finish makes the model of a finished trainer.
func (t *Training) finish(c candidate, state []byte) (*Fitted, error) {
	trainer, err := t.newTrainer(c, state)
	if err != nil {
		return nil, err
	}
	defer trainer.Close()
	posterior, indices, err := trainer.Result()
	if err != nil {
		return nil, err
	}
	if text := trainer.Warning(); text != "" {
		t.env.Observer.ReportWarning(text)
	}
	theta := slices.Clone(c.theta)
	for i := range theta {
		theta[i].Index = indices[i]
	}
	job := t.Job
	job.Encode = t.FirstPass.Encode
	meta, err := pass.Describe(job, t.FirstPass.Features, t.FirstPass.Target, theta, posterior)
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	training := pass.Training{
		Kernel: meta.Kernel, Inducing: posterior.Inducing(), Steps: trainer.Progress().Step, StoppedBy: "plan",
		StoppedAfter: t.state.StoppedAfter, Machine: Machine(), Resumed: t.resumed, Trace: t.state.Trace,
	}
	if t.warm != nil {
		training.Parent = &t.env.Parent.Parent
	}
	if t.state.StoppedAfter > 0 {
		training.StoppedBy = "time"
	}
	if c, ok := trainer.(*model.Collapsed); ok {
		training.Noise = c.Noise()
	}
	return &Fitted{pass.Model{Meta: meta, Posterior: posterior}, training}, nil
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
func (t *Training) spent() time.Duration { return t.state.Spent + time.Since(t.entered) }

// Machine names what decides how training rounds: the architecture, its level where the
// compiler may use one that fuses multiplication and addition, and the instruction set
// of the kernels.
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
