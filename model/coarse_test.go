package model

import (
	"math"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// coarseRun is a short run whose first steps are made with a quarter of the inducing points.
func coarseRun(t testing.TB) (Config, Rows) {
	c, rows := smallRun(t, 600)
	c.Inducing, c.Plan.Joint, c.coarseLeast = 60, 14, 8
	return c, rows
}

// Inducing points are added once, and with their q at the prior they leave the law of functions as it was: the
// objective over all rows too.
func TestAddedPointsChangeNoFunction(t *testing.T) {
	c, rows := coarseRun(t)
	tr := newTestTrainer(t, c, rows)
	if !tr.coarse() || tr.Inducing() != 15 {
		t.Fatalf("training begins with %d inducing points, want 15 of 60", tr.Inducing())
	}
	for range 5 {
		onePass(t, tr, rows, 1000)
	}
	before := tr.objective(t, rows, 1)
	likelihood := tr.sweep.likelihood
	fatal.If(t, tr.refine())
	tr.sweep.likelihood = likelihood
	after := tr.objective(t, rows, 1)
	if tr.coarse() || tr.Inducing() != 60 {
		t.Errorf("%d inducing points afterwards, want 60", tr.Inducing())
	}
	if !(math.Abs(after-before) <= 1e-9*before) {
		t.Errorf("the objective is %.12g with the points that were added, %.12g without", after, before)
	}
	drive(t, tr, rows, 1000, nil)
	if final := tr.Progress(); tr.Inducing() != 60 || !(final.Bound > 0 && final.Bound < 1) {
		t.Errorf("training ends with %d inducing points at %+v", tr.Inducing(), final)
	}
}

// A quarter that carries too little of the information is not begun with.
func TestTooCoarseIsNotBegunWith(t *testing.T) {
	c, rows := coarseRun(t)
	c.Inducing = 8 // two inducing points for two features
	if tr := newTestTrainer(t, c, rows); tr.coarse() || tr.Inducing() != 8 || tr.starts > tr.mostStarts {
		t.Errorf("training begins with %d inducing points, after %d of %d evaluations", tr.Inducing(), tr.starts, tr.mostStarts)
	}
}
