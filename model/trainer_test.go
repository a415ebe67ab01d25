package model

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// drive runs the trainer to its end. Mini-batches go round the rows. After
// each step it calls each, if that is not nil.
func drive(t testing.TB, tr *Trainer, rows Rows, chunk int, each func()) {
	t.Helper()
	for !tr.Done() {
		onePass(t, tr, rows, chunk)
		if each != nil {
			each()
		}
	}
}

func onePass(t testing.TB, tr *Trainer, rows Rows, chunk int) {
	t.Helper()
	pass := tr.Want()
	at := 0
	if pass.Kind == MiniBatch {
		at = tr.stepsDone * pass.Rows % rows.Len()
	}
	fatal.If(t, tr.Begin())
	for left := pass.Rows; left > 0; {
		n := min(left, chunk, rows.Len()-at)
		some := rows.Slice(at, at+n)
		fatal.If(t, tr.Add(some.X, some.Y))
		left -= n
		at = (at + n) % rows.Len()
	}
	fatal.If(t, tr.End())
}

func smallRun(t testing.TB, n int) (Config, Rows) {
	rows := testRows(n, 2, 21)
	c := testConfig(t, rows, true)
	c.Inducing = 30
	c.Plan = Plan{Joint: 6, Batch: n / 2, Settle: 4}
	return c, rows
}

// The result depends on neither the number of workers nor the caller's chunks.
func TestWorkersAndChunksDoNotChangeTheResult(t *testing.T) {
	c, rows := smallRun(t, 3000)
	c.ELBO = true
	var want []byte
	for _, workers := range []int{1, 2, 3} {
		for _, chunk := range []int{8192, 700, 1} {
			if chunk == 1 && workers > 1 {
				continue
			}
			c.Workers = workers
			tr := newTestTrainer(t, c, rows)
			drive(t, tr, rows, chunk, nil)
			got := finalState(t, tr)
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d workers, chunks of %d: other bits than with one worker", workers, chunk)
			}
		}
	}
}

// A whole training run and the predictions of what it trained have the same
// bits with every instruction set of this machine.
func TestInstructionSetsTrainAndPredictTheSame(t *testing.T) {
	before := linalg.InstructionSet()
	t.Cleanup(func() { fatal.If(t, linalg.UseInstructionSet(before)) })
	eachFamily(t, trainWithEachSet)
}

func trainWithEachSet(t *testing.T, f *kernel.Family) {
	var want *Posterior
	var wantMean, wantVariance []float64
	for _, set := range linalg.InstructionSets() {
		fatal.If(t, linalg.UseInstructionSet(set))
		c, rows := smallRun(t, 300)
		c.Kernel, c.Inducing = f, 40
		tr := newTestTrainer(t, c, rows)
		drive(t, tr, rows, 1000, nil)
		got, _, err := tr.Result()
		fatal.If(t, err)
		mean, variance := predict(t, got, 2, rows.X)
		if want == nil {
			want, wantMean, wantVariance = got, mean, variance
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s trains another posterior than %s", set, linalg.InstructionSets()[0])
		}
		if !slices.Equal(mean, wantMean) || !slices.Equal(variance, wantVariance) {
			t.Errorf("%s predicts other numbers than %s", set, linalg.InstructionSets()[0])
		}
	}
}

// A step allocates nothing that grows with its rows or with M². With one worker,
// for with several it is chance which of them has to let its scratch memory grow.
func TestStepAllocatesLittle(t *testing.T) {
	const m, steps = 150, 20
	rows := testRows(4000, 3, 21)
	c := testConfig(t, rows, true)
	c.Inducing, c.Plan = m, Plan{Joint: 50, Batch: 2000}
	tr := newTestTrainer(t, c, rows)
	step := func() { onePass(t, tr, rows, 1000) }
	for range 3 {
		step() // scratch memory grows to its size
	}
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	for range steps {
		step()
	}
	runtime.ReadMemStats(&to)
	if got := (to.TotalAlloc - from.TotalAlloc) / steps; got > m*m*8/4 {
		t.Errorf("a step allocates %d bytes; a matrix has %d", got, m*m*8)
	}
}

// θ is on its grid before the last refinement of q starts, and stays: whatever
// q learns while it settles, it learns with the θ that is certified.
func TestThetaIsOnItsGridBeforeTheLastRefinement(t *testing.T) {
	for _, step := range []float64{0.01, 0.5} {
		c, rows := smallRun(t, 400)
		for i := range c.Grids {
			c.Grids[i] = Grid{Min: -6, Step: step, Count: int(12/step) + 1}
		}
		tr := newTestTrainer(t, c, rows)
		settled := 0
		drive(t, tr, rows, 1000, func() {
			if tr.phase == Joint || tr.step == 0 {
				return
			}
			settled++
			for i, g := range c.Grids { // of the best state that was swept
				if on := g.Value(g.Nearest(tr.bestTheta[i])); tr.bestTheta[i] != on {
					t.Errorf("step %g: θ[%d] = %.17g while q settles, grid value %.17g", step, i, tr.bestTheta[i], on)
				}
			}
		})
		if settled < 2 {
			t.Errorf("step %g: only %d passes with θ on its grid", step, settled)
		}
		p, indices, err := tr.Result()
		fatal.If(t, err)
		for i, g := range c.Grids {
			want := math.Exp(g.Value(indices[i]))
			got := p.Kernel.Variance
			if i < c.Dim {
				got = p.Kernel.Lengthscales[i]
			}
			if got != want {
				t.Errorf("step %g: parameter %d is %.17g, its grid index says %.17g", step, i, got, want)
			}
		}
	}
}

// The trainer's last bound is its result's, evaluated by the predictor over the same rows.
func TestReportedBoundIsThatOfTheResult(t *testing.T) {
	c, rows := smallRun(t, 800)
	tr := newTestTrainer(t, c, rows)
	start := tr.Progress().Bound
	drive(t, tr, rows, 1000, nil)
	p, _, err := tr.Result()
	fatal.If(t, err)
	risk, got := riskOf(t, p, c.Loss, rows), tr.Progress()
	if !(math.Abs(got.Risk-risk) <= 1e-6) || !(math.Abs(got.KL-p.KL()) <= 1e-6*(1+got.KL)) {
		t.Errorf("reported risk %.9g and KL %.9g, the result has %.9g and %.9g", got.Risk, got.KL, risk, p.KL())
	}
	if !(got.Bound < start) {
		t.Errorf("training led from %g to %g", start, got.Bound)
	}
	if b, limit, err := p.JitterCheck(); err != nil || !(b <= limit) {
		t.Errorf("JitterCheck() = %g, %g, %v", b, limit, err)
	}
}

// Where examples are sets of rows, the bound counts them, and training lowers that bound.
func TestExamplesPayForTheKL(t *testing.T) {
	c, rows := smallRun(t, 2000)
	freeForm := func(c Config) Progress {
		tr := newTestTrainer(t, c, rows)
		drive(t, tr, rows, 1000, nil)
		return tr.Progress()
	}
	collapsed := func(c Config) Progress {
		return fitCollapsed(t, CollapsedConfig{Config: c, Alpha: 1, Starts: []Start{{Theta: make([]float64, 3)}}, Evaluations: 60}, rows).Progress()
	}
	few := c
	few.Examples = 60
	for name, train := range map[string]func(Config) Progress{"free form": freeForm, "collapsed": collapsed} {
		of := train(c)
		if got, want := train(few).Bound, pacBound(of.Risk, of.KL+of.LnInverseWeight, 60, c.Delta); !(got < 0.95*want) {
			t.Errorf("%s: bound %.3f for 60 examples, and %.3f of the model for a bound on rows", name, got, want)
		}
	}
}

func TestNaNInTheRowsIsAnError(t *testing.T) {
	c, rows := smallRun(t, 50)
	for _, spoil := range []func(r *Rows){func(r *Rows) { r.Y[3] = math.NaN() }, func(r *Rows) { r.X[5] = math.NaN() }} {
		tr := newTestTrainer(t, c, rows)
		bad := Rows{X: slices.Clone(rows.X), Y: slices.Clone(rows.Y), Dim: rows.Dim}
		spoil(&bad)
		fatal.If(t, tr.Begin())
		fatal.If(t, tr.Add(bad.X, bad.Y))
		if err := tr.End(); !errors.Is(err, ErrDiverged) {
			t.Errorf("End() = %v, want ErrDiverged", err)
		}
		if _, err := NewTrainer(c, bad); err == nil {
			t.Error("NewTrainer takes a NaN")
		}
	}
}

// Odd data train to the end with a valid posterior: few rows, one row,
// duplicates, constant target, noise, one to a hundred features.
func TestOddData(t *testing.T) {
	noise := testRows(200, 2, 30)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range noise.Y {
		noise.Y[i] = rng.NormFloat64()
	}
	duplicates := testRows(100, 3, 31)
	for i := range duplicates.Len() {
		copy(duplicates.Row(i), duplicates.Row(i%10))
	}
	constant := testRows(60, 1, 32)
	clear(constant.Y)
	same := testRows(30, 2, 33)
	for i := range same.Len() {
		copy(same.Row(i), same.Row(0))
	}
	for name, rows := range map[string]Rows{
		"noise": noise, "duplicates": duplicates, "constant target": constant, "equal rows": same,
		"one row": testRows(1, 1, 34), "two rows": testRows(2, 3, 35), "20 rows": testRows(20, 1, 36), "100 features": testRows(150, 100, 37),
	} {
		for _, ard := range []bool{true, false} {
			c := testConfig(t, rows, ard)
			c.Plan = Plan{Joint: 5, Settle: 3, EstimateRows: 50}
			tr := newTestTrainer(t, c, rows)
			if name == "duplicates" && (tr.Inducing() != 10 || tr.Warning() == "") {
				t.Errorf("%s: %d inducing points, warning %q; want 10 with a warning", name, tr.Inducing(), tr.Warning())
			}
			drive(t, tr, rows, 1000, nil)
			p, _, err := tr.Result()
			if err != nil {
				t.Errorf("%s, ARD %t: %v", name, ard, err)
				continue
			}
			if b, limit, err := p.JitterCheck(); err != nil || !(b <= limit) {
				t.Errorf("%s, ARD %t: JitterCheck() = %g, %g, %v", name, ard, b, limit, err)
			}
			if b := tr.Progress().Bound; !(b > 0 && b <= 1) {
				t.Errorf("%s, ARD %t: bound %g", name, ard, b)
			}
		}
	}
}

// Noise is not explained: the estimated bound stays above the Bayes error of
// a constant, P(|y| > ε).
func TestNoiseIsNotExplained(t *testing.T) {
	rows := testRows(300, 2, 40)
	rng := rand.New(rand.NewPCG(2, 2))
	for i := range rows.Y {
		rows.Y[i] = rng.NormFloat64()
	}
	c := testConfig(t, rows, false)
	c.Plan = Plan{Joint: 20, Settle: 5}
	tr := newTestTrainer(t, c, rows)
	drive(t, tr, rows, 1000, nil)
	bayes := math.Erfc(0.6 / math.Sqrt2)
	if b := tr.Progress().Bound; !(b >= bayes) {
		t.Errorf("bound %g on noise is below the Bayes error %g", b, bayes)
	}
}

// A mean that has gone far away is taken back to where the bound was lowest,
// and the run ends no higher than that.
func TestLostPosteriorIsTakenBack(t *testing.T) {
	rows := testRows(600, 2, 21)
	c := testConfig(t, rows, true)
	c.Inducing, c.Plan = 30, Plan{Joint: 30, Batch: 300, Settle: 4}
	tr := newTestTrainer(t, c, rows)
	for range 10 {
		onePass(t, tr, rows, 1000)
	}
	lowest := tr.jointBound
	for i := range tr.mean {
		tr.mean[i] *= 300
	}
	onePass(t, tr, rows, 1000)
	if !(tr.last.Bound > 2*lowest) {
		t.Fatalf("the bound went from %g to %g only: the test says nothing", lowest, tr.last.Bound)
	}
	if tr.keepNegative != 0 || !(tr.slowed < 1) {
		t.Errorf("the run goes on with rates of %g and %g of the negative curvature", tr.slowed, tr.keepNegative)
	}
	drive(t, tr, rows, 1000, nil)
	if p := tr.Progress(); !(p.Bound <= lowest) {
		t.Errorf("the bound was %g, and is %g at the end (KL %g)", lowest, p.Bound, p.KL)
	}
}

// A joint phase whose bound has stopped falling winds down and ends long before
// its plan does, to the same bits if it is resumed in between.
func TestFlatBoundEndsTheJointPhase(t *testing.T) {
	const joint = 2000
	c, rows := smallRun(t, 200)
	c.Plan.Joint, c.Plan.Batch = joint, 200
	tr := newTestTrainer(t, c, rows)
	var middle []byte
	flat := 0
	drive(t, tr, rows, 1000, func() {
		if tr.phase == Joint && tr.flatAt > 0 && middle == nil {
			flat = tr.flatAt
			onePass(t, tr, rows, 1000)
			middle = finalState(t, tr)
		}
	})
	if flat == 0 || tr.Progress().Step > flat+c.Plan.windSteps()+c.Plan.Settle {
		t.Fatalf("%d steps of %d, flat at step %d", tr.Progress().Step, joint, flat)
	}
	again, err := ResumeTrainer(c, middle)
	fatal.If(t, err)
	t.Cleanup(again.Close)
	drive(t, again, rows, 1000, nil)
	if !bytes.Equal(finalState(t, again), finalState(t, tr)) {
		t.Error("resumed while it winds down, the run ends in other bits")
	}
}
