package model

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Without a declared number of inducing points the bound of the start values finds one:
// few for a plane, more for a function with many waves. From there on the run is the one
// with that number declared, whatever its workers.
func TestBoundFindsTheNumberOfInducingPoints(t *testing.T) {
	const n, d = 1600, 2
	plane := Rows{X: make([]float64, n*d), Y: make([]float64, n), Dim: d}
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		plane.X[i*d], plane.X[i*d+1] = a, b
		plane.Y[i] = a - 0.5*b + 0.2*rng.NormFloat64()
	}
	waves := testRows(n, d, 6)
	for i := range n {
		waves.Y[i] = 2*math.Sin(3*waves.X[i*d])*math.Sin(3*waves.X[i*d+1]) + 0.1*rng.NormFloat64()
	}
	found := func(rows Rows, inducing, workers int) *Trainer {
		c := testConfig(t, rows, true)
		c.Inducing, c.Workers, c.Plan = inducing, workers, Plan{Joint: -1, Settle: 2, EstimateRows: 300}
		tr, err := NewTrainer(c, rows)
		fatal.If(t, err)
		t.Cleanup(tr.Close)
		return tr
	}
	most := testConfig(t, plane, true).Scheduled().Inducing
	few, many := found(plane, 0, 1), found(waves, 0, 1)
	if few.Inducing() > most/4 || many.Inducing() <= few.Inducing() || many.Inducing() > most {
		t.Errorf("%d inducing points for a plane, %d for many waves, at most %d", few.Inducing(), many.Inducing(), most)
	}
	declared := found(plane, few.Inducing(), 1)
	if !slices.Equal(few.z.Data, declared.z.Data) || !slices.Equal(few.mean, declared.mean) || !slices.Equal(few.precision.Data, declared.precision.Data) {
		t.Errorf("another start than with %d inducing points declared", few.Inducing())
	}
	if !bytes.Equal(finalState(t, found(waves, 0, 3)), finalState(t, many)) {
		t.Error("three workers find another start than one")
	}
	c := testConfig(t, plane, true)
	c.Plan = Plan{Joint: -1, Settle: 2, EstimateRows: 300}
	again, err := ResumeTrainer(c, finalState(t, few))
	fatal.If(t, err)
	defer again.Close()
	drive(t, again, plane, 500, nil)
	drive(t, few, plane, 500, nil)
	if !bytes.Equal(finalState(t, again), finalState(t, few)) {
		t.Error("resumed, it ends in other bits")
	}
}

// Targets of very heavy tails do not spoil the start: it says at least what a constant
// says.
func TestHeavyTailsDoNotSpoilTheStart(t *testing.T) {
	rows := testRows(800, 2, 5)
	rng := rand.New(rand.NewPCG(3, 3))
	lost := 0
	for i := range rows.Y {
		rows.Y[i] *= 0.2
		if i%40 == 0 {
			rows.Y[i] = 1e4 * rng.ExpFloat64()
			lost++
		}
	}
	tr := newTestTrainer(t, testConfig(t, rows, true), rows)
	if p := tr.Progress(); !(p.Risk <= 2*float64(lost)/float64(rows.Len())) {
		t.Errorf("training starts at a risk of %g, where %d of %d targets are far away", p.Risk, lost, rows.Len())
	}
}
