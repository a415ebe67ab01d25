package pipeline

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/model"
)

// A job of mode arrival trains while its rows arrive. It plans N rows and J steps. The first F
// rows give scaling, the centre of the prior and start values. Step j = 0 to J−1 is made once
// the first
//
//	F + ⌈(j+1)(N−F)/J⌉
//
// rows have arrived. Its batch is drawn at random from a reservoir of the train rows among
// them, as large as the shuffle buffer of other jobs; batches of the latest rows alone would let
// q learn them by heart. So a step depends on nothing but the order of the rows: if all rows are
// there from the start, the steps are the same. After the last row θ is put on its grid and q
// settles on the whole sample.

// checkArrival finds faults of a job that trains before all rows have arrived.
func (j Job) checkArrival(fault func(string, ...any)) {
	t := j.Train
	if t.Mode != TrainArrival {
		return
	}
	if t.Method != MethodFreeForm {
		fault("train.mode: %s does not go with train.method %s, which makes full passes only", TrainArrival, t.Method)
	}
	if j.Roles.By != RolesByPosition {
		fault("train.mode: %s needs roles.by %s, for the role of a row must be known when it arrives", TrainArrival, RolesByPosition)
	}
	if t.Rows != 0 && (t.Rows <= j.Roles.Reference || t.Rows > maxRowsAtOnce) {
		fault("train.rows: %d is no number of rows above roles.reference and up to %d (for windows of a topic it is source.kafka.rows)", t.Rows, maxRowsAtOnce)
	}
	if j.Roles.Last {
		fault("train.mode: %s does not go with the last rows as hold-out rows: it is not known yet where they begin", TrainArrival)
	}
	if len(j.Kernel.Family) > 1 || len(j.Inducing) > 1 {
		fault("train.mode: %s trains one posterior: name one kernel and at most one number of inducing points", TrainArrival)
	}
	if j.Copies.Policy == CopiesDropped {
		fault("train.mode: %s does not go with copies drop, which needs all rows first", TrainArrival)
	}
	if t.Time != 0 {
		fault("train.time: steps of train.mode %s go by rows, never by the clock", TrainArrival)
	}
}

// planned is N, for a sample of n rows.
func (j Job) planned(n int64) int64 {
	if j.Train.Rows > 0 {
		return j.Train.Rows
	}
	return n
}

// firstRows is F, for a sample of n rows: an eighth of the planned rows, a larger part of few.
func (j Job) firstRows(n int64) int64 {
	n = j.planned(n)
	return min(n, max(j.Roles.Reference, min(startRows, max(n/8, min(n/2, 1000)))))
}

// arriving completes a candidate of mode arrival, whose configuration is that of a fit to the
// whole sample. Steps before the last row assume the planned number of rows, the train rows
// among them, and all of δ: its share may not be known yet. After them q settles.
func (t *training) arriving(c candidate) (candidate, error) {
	n := t.job.planned(t.survey.Roles.Rows)
	job := t.declared.ForRows(n)
	theta, _, err := parameters(job, t.survey, c.config.Kernel, t.state.Centre, t.env.Resources.Workers)
	if err != nil {
		return c, err
	}
	c.early = c.config
	c.early.Grids = nil
	for _, p := range theta {
		g, err := priced(p.Grid)
		if err != nil {
			return c, err
		}
		c.early.Grids = append(c.early.Grids, g)
	}
	c.early.N, c.early.Delta = max(1, Sample{Rows: n}.train(job)), job.Delta
	c.early.Plan = job.plan(c.early.N, c.early.Dim, c.early.Inducing)
	c.config.Inducing = c.early.Scheduled().Inducing
	c.config.Plan.Joint = -1
	return c, nil
}

// arriving reports whether there are steps to make before the last row.
func (c checkpoint) arriving(job Job) bool {
	return job.Train.Mode == TrainArrival && !c.Arrived
}

// arrive makes the steps whose rows have arrived, from the checkpoint on. With the whole sample it
// leaves a trainer in the state that settles on it.
func (t *training) arrive(ctx context.Context, whole bool) error {
	c := t.candidates[0]
	early := c
	early.config = c.early
	made, err := t.newTrainer(early, t.state.Trainer)
	if err != nil {
		return err
	}
	defer made.Close()
	trainer, ok := made.(*model.Trainer)
	if !ok {
		return errors.New("pipeline: this method does not train while rows arrive")
	}
	if err := t.arrivalSteps(ctx, trainer, c.early.Scheduled().Plan); err != nil {
		return err
	}
	if !whole {
		return t.checkpoint(ctx, trainer)
	}
	if text := trainer.Notice(); text != "" {
		t.env.Observer.notice(text)
	}
	reached, err := trainer.Posterior()
	if err != nil {
		return err
	}
	settling, err := model.NewTrainerFrom(c.config, reached, t.start)
	if err != nil {
		return err
	}
	defer settling.Close()
	t.state.Arrived = true
	t.state.Trainer, err = settling.MarshalBinary()
	return err
}

// arrivalSteps makes the steps whose rows have arrived.
func (t *training) arrivalSteps(ctx context.Context, trainer *model.Trainer, plan model.Plan) error {
	f := t.feed
	n, planned := f.roles.Rows, t.job.planned(f.roles.Rows)
	first := t.job.firstRows(n)
	all := int64(plan.Joint)
	// need is the number of train rows that must have arrived for the next step; ok: they have.
	need := func() (rows int64, ok bool) {
		p := trainer.Progress()
		if p.Phase != model.Joint {
			return 0, false
		}
		due := first + ((int64(p.Step)+1)*(planned-first)+all-1)/all
		return max(1, f.roles.trainIndex(min(due, n))), due <= n
	}
	want, ok := need()
	if !ok {
		return nil
	}
	if t.reservoir == nil {
		t.reservoir = newReservoir(t.job.Train, f.scale.inputs)
	}
	r := t.reservoir
	order, at := f.from(r.seen)
	err := f.rows(ctx, order, func(x, y []float64) error {
		x, y, at = r.behind(x, y, at)
		for len(y) > 0 {
			x, y = r.add(x, y, want)
			for r.seen >= want {
				if err := t.arrivalStep(ctx, trainer, plan.Batch); err != nil {
					return err
				}
				if want, ok = need(); !ok {
					return errAllMade
				}
			}
		}
		return nil
	})
	if errors.Is(err, errAllMade) {
		return nil
	}
	return err
}

// errAllMade ends the reading when no further step is due.
var errAllMade = errors.New("no step is due")

// arrivalStep makes one step, on rows of the reservoir.
func (t *training) arrivalStep(ctx context.Context, trainer *model.Trainer, batch int) error {
	if err := ctx.Err(); err != nil {
		return errors.Join(t.interrupted(ctx, trainer), err)
	}
	trainer.Among(t.reservoir.seen)
	if err := trainer.Begin(); err != nil {
		return err
	}
	x, y := t.reservoir.draw(trainer.Progress().Step, batch)
	if err := inChunks(x, y, trainer.Add); err != nil {
		return err
	}
	if err := trainer.End(); err != nil {
		return err
	}
	t.record(trainer)
	return t.checkpointIfDue(ctx, trainer)
}

// from are the shards from the one of a train row on, and the index of their first train row.
// Indices count train rows.
func (f *feed) from(row int64) (order []int, at int64) {
	shards := f.src.Shards()
	for i, s := range shards {
		if f.roles.trainIndex(s.First+s.Rows) <= row {
			continue
		}
		if order == nil {
			at = f.roles.trainIndex(s.First)
		}
		order = append(order, i)
	}
	return order, at
}

// An EarlyTrainer trains on the rows of a sample while they arrive, for a job of mode arrival.
// [Run] resumes from its checkpoint. Without the checkpoint Run makes the same steps and gives
// the same bytes.
type EarlyTrainer struct {
	job      Job
	env      Environment
	survey   *Survey
	training *training
	began    time.Time
}

// NewEarlyTrainer returns a trainer without rows. The job must have its defaults and its planned
// number of rows. Of env it uses Checkpoints, Resources and Observer; the checkpoints must be
// those of the run.
func NewEarlyTrainer(job Job, env Environment) *EarlyTrainer {
	env.Resources = env.Resources.WithDefaults()
	return &EarlyTrainer{job: job, env: env, began: time.Now()}
}

// Add makes the steps whose rows have arrived, and saves the checkpoint. The source has the
// shards of the source before, and then new ones.
func (a *EarlyTrainer) Add(ctx context.Context, src Source) error {
	n := rowsOf(src)
	if n < a.job.firstRows(n) || a.job.Train.Rows == 0 {
		return nil
	}
	if a.survey == nil {
		if err := errors.Join(a.job.complete(), a.env.needs("Checkpoints")); err != nil {
			return err
		}
		s, err := survey(ctx, a.beginningOf(src), a.job, a.env.Resources, nil)
		if err != nil {
			return err
		}
		a.survey = s
	}
	rows, err := beginPass(ctx, src, a.job, a.survey.Used, newSecret(), nil, a.env.Resources)
	if err != nil {
		return err
	}
	s := *a.survey
	s.Roles = rows.roles
	if a.training == nil {
		env := a.env
		env.Resources.Memory = 1 // rows are read as they arrive, and not kept
		if a.training, err = newTraining(ctx, src, &s, a.job, env, a.began); err != nil {
			return err
		}
	}
	t := a.training
	if !t.state.arriving(a.job) {
		return nil // an earlier process has had all rows
	}
	t.survey, t.feed = &s, &feed{src: src, roles: s.Roles, scale: s.scaler(), readers: a.env.Resources.Workers}
	t.state.Sample = arrivingSample(src.Shards())
	return t.arrive(ctx, false)
}

// beginningOf is the source of the shards with the first rows.
func (a *EarlyTrainer) beginningOf(src Source) Source {
	shards, first := src.Shards(), a.job.firstRows(0)
	k := 0
	for k < len(shards) && shards[k].First < first {
		k++
	}
	return beginning{src, shards[:k]}
}

// A beginning is a source of the first shards of another.
type beginning struct {
	Source

	shards []Shard
}

func (b beginning) Shards() []Shard { return b.shards }

const arrivingPrefix = "the first shards "

// arrivingSample names the rows of an early checkpoint by the places of their shards.
func arrivingSample(shards []Shard) string {
	return fmt.Sprintf("%s%d %s", arrivingPrefix, len(shards), Digest(sha256.Sum256(placesOf(shards))))
}

// beganOn reports whether a checkpoint's rows are those of the first of these shards.
func beganOn(sample string, shards []Shard) bool {
	var k int
	if _, err := fmt.Sscanf(sample, arrivingPrefix+"%d ", &k); err != nil || k < 1 || k > len(shards) || !strings.HasPrefix(sample, arrivingPrefix) {
		return false
	}
	return sample == arrivingSample(shards[:k])
}

// placesOf is a text of the places of shards.
func placesOf(shards []Shard) []byte {
	var text []byte
	for _, s := range shards {
		text = fmt.Appendf(text, "%d %d %s\n", s.First, s.Rows, s.Name)
	}
	return text
}
