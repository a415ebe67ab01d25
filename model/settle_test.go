package model

import (
	"math"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// lawsOf are the laws of f at the rows under the posterior as it stands.
func lawsOf(t *testing.T, tr *Trainer, rows Rows) (mean, variance []float64) {
	t.Helper()
	p, _, err := tr.cfg.posterior(tr.theta, tr.z, tr.mean, tr.precision)
	fatal.If(t, err)
	return predict(t, p, 1, rows.X)
}

func rmsOff(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// θ on a coarse grid leaves the posterior what it is as a law of functions: its mean and
// its variance at the rows change little, where the same whitened coordinates of another
// θ would be another function.
func TestGridKeepsTheFunction(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		c, rows := smallRun(t, 600)
		c.Kernel, c.Inducing, c.Plan.Joint = f, 60, 40
		for i := range c.Grids {
			c.Grids[i] = Grid{Min: -6.1, Step: 0.25, Count: 49}
		}
		tr := newTestTrainer(t, c, rows)
		for range 15 { // before the first parameter is on its grid
			onePass(t, tr, rows, 1000)
		}
		mean, variance := lawsOf(t, tr, rows)
		theta := slices.Clone(tr.theta)
		tr.toGrid()
		fatal.If(t, tr.round())
		if slices.Equal(tr.theta, theta) {
			t.Fatal("θ was on its grid before")
		}
		rounded, roundedVariance := lawsOf(t, tr, rows)

		same := newTestTrainer(t, c, rows)
		for range 15 {
			onePass(t, same, rows, 1000)
		}
		copy(same.theta, tr.theta)
		naive, _ := lawsOf(t, same, rows)

		off, would := rmsOff(rounded, mean), rmsOff(naive, mean)
		t.Logf("the mean is off by %.4f, with the same coordinates by %.4f; the variance by %.5f", off, would, rmsOff(roundedVariance, variance))
		if !(off <= 0.25*would) {
			t.Errorf("the mean is off by %g, with the same coordinates by %g", off, would)
		}
		if !(rmsOff(roundedVariance, variance) <= 0.01) {
			t.Errorf("the variance is off by %g", rmsOff(roundedVariance, variance))
		}
	})
}

// A state that is spoiled on its way to the grid is replaced by that of the lowest bound.
// A run that ends far above that says so.
func TestGridThatHarmsIsTakenBack(t *testing.T) {
	c, rows := smallRun(t, 600)
	c.Plan = Plan{Joint: 30, Settle: 10}
	tr := newTestTrainer(t, c, rows)
	for tr.phase == Joint {
		onePass(t, tr, rows, 1000)
	}
	for i := range tr.mean {
		tr.mean[i] *= 300
	}
	lowest := tr.reached
	onePass(t, tr, rows, 1000)
	if !(tr.best.Bound > 2*lowest) {
		t.Fatalf("the bound went from %g to %g only: the test says nothing", lowest, tr.best.Bound)
	}
	state := finalState(t, tr)
	drive(t, tr, rows, 1000, nil)
	if p := tr.Progress(); !(p.Bound <= harm*lowest) || tr.Warning() != "" {
		t.Errorf("the bound was %g, and is %g at the end; warning %q", lowest, p.Bound, tr.Warning())
	}
	again, err := ResumeTrainer(c, state)
	fatal.If(t, err)
	t.Cleanup(again.Close)
	again.reached = lowest / 2
	drive(t, again, rows, 1000, nil)
	if again.Warning() == "" {
		t.Errorf("nothing is said of a bound of %g where %g was reached", again.Progress().Bound, again.reached)
	}
}
