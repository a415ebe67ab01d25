package model

import (
	"math"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// However large the gradient, the mean moves no farther than the step can be
// trusted, and Λ goes with it.
func TestNaturalStepsAreBounded(t *testing.T) {
	rows := testRows(600, 2, 21)
	c := testConfig(t, rows, true)
	c.Inducing, c.Plan = 30, Plan{Joint: 30, Batch: 300, Settle: 4}
	tr := newTestTrainer(t, c, rows)
	for range 5 {
		onePass(t, tr, rows, 1000)
	}
	fatal.If(t, tr.derive())
	for i := range tr.sweep.h {
		tr.sweep.h[i] = 1e3
	}
	clear(tr.sweep.bigH.Data)
	before, precision := slices.Clone(tr.mean), slices.Clone(tr.precision.Data)
	const rate = 0.15
	taken := tr.naturalStep(rate, 1)
	tr.moveMean(taken)
	moved := 0.0
	for i, m := range tr.mean {
		moved += 0.5 * (m - before[i]) * (m - before[i])
	}
	if limit := 1 + 0.02*tr.kl; !(taken > 0 && taken < rate && moved > limit/16 && moved <= limit) {
		t.Errorf("a step of rate %g moved the mean by %g nats, the limit is %g", taken, moved, limit)
	}
	for i := range tr.mean { // (1−r)Λ + rI
		want := (1-taken)*precision[i*len(before)+i] + taken
		if got := tr.precision.Row(i)[i]; !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("element %d of the precision is %g, want %g", i, got, want)
		}
	}
}
