package model

import (
	"bytes"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Training begins with half of the inducing points. All of them, later, are the same law of functions at
// first, and a trainer that is resumed before ends in the same bits.
func TestHalfOfTheInducingPointsBegin(t *testing.T) {
	rows := testRows(1200, 3, 8)
	c := testConfig(t, rows, true)
	c.Inducing, c.Plan = 220, Plan{Joint: 10, Batch: 400, Settle: 2, EstimateRows: 200}
	begun := func() *Trainer {
		tr := newTestTrainer(t, c, rows)
		for range 3 {
			onePass(t, tr, rows, 500)
		}
		return tr
	}
	tr := begun()
	if tr.z.Rows != 110 || tr.Inducing() != 220 {
		t.Fatalf("%d of %d inducing points, want 110 of 220", tr.z.Rows, tr.Inducing())
	}
	state := finalState(t, tr)
	mean, variance := lawsOf(t, tr, rows)
	tr.refine()
	if tr.z.Rows != 220 || tr.later.Rows != 0 {
		t.Fatalf("%d inducing points, and %d for later", tr.z.Rows, tr.later.Rows)
	}
	refinedMean, refinedVariance := lawsOf(t, tr, rows)
	if m, v := rmsOff(refinedMean, mean), rmsOff(refinedVariance, variance); !(m < 1e-6 && v < 1e-6) {
		t.Errorf("with more points means move by %g and variances by %g, root mean square", m, v)
	}
	again, err := ResumeTrainer(c, state)
	fatal.If(t, err)
	defer again.Close()
	whole := begun()
	drive(t, again, rows, 500, nil)
	drive(t, whole, rows, 300, nil)
	if whole.Inducing() != 220 || !bytes.Equal(finalState(t, again), finalState(t, whole)) {
		t.Error("resumed, it ends in other bits")
	}
}
