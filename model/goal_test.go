package model

import (
	"math"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// With all rows as inducing points the posterior of the evidence bound is that of the exact
// process with the noise that it has learned.
func TestELBOAtAllRowsIsTheExactProcess(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		rows := testRows(60, 2, 21)
		c := testConfig(t, rows, true)
		c.Goal, c.Kernel, c.Inducing, c.Plan = GoalELBO, f, rows.Len(), Plan{Joint: -1, Settle: 100}
		tr := newTestTrainer(t, c, rows)
		noise, most := 0.0, math.Inf(1)
		drive(t, tr, rows, 1000, func() {
			if tr.phase == Polish && noise == 0 { // the mean is found, and the bound may only fall
				noise, most = tr.last.squares, tr.last.Bound
			}
			if tr.phase == Settled && !(tr.last.Bound <= most) {
				t.Errorf("the covariance of q costs: the bound rises from %g to %g", most, tr.last.Bound)
			}
		})
		p, _, err := tr.Result()
		fatal.If(t, err)
		mean, _ := predict(t, p, 1, rows.X)

		n := rows.Len()
		k := linalg.NewMat(n, n)
		for i := range n {
			p.Kernel.Row(k.Row(i), rows.Row(i), rows.X)
		}
		noisy := linalg.NewMat(n, n)
		copy(noisy.Data, k.Data)
		for i := range n {
			noisy.Row(i)[i] += noise
		}
		pool := linalg.NewPool(1)
		defer pool.Close()
		if !pool.Cholesky(noisy) {
			t.Fatal("the exact process cannot be factorized")
		}
		alpha := append([]float64(nil), rows.Y...)
		solveLower(noisy, alpha)
		solveLowerTrans(noisy, alpha)
		for i := range n {
			if want := linalg.Dot(k.Row(i), alpha); !(math.Abs(mean[i]-want) <= 0.05*math.Sqrt(noise)) {
				t.Errorf("row %d: mean %g, of the exact process %g (noise %g)", i, mean[i], want, noise)
			}
		}
	})
}

// Both gives a mean that is nearer to the targets, at nearly the bound that training for
// the bound alone ends at; the evidence bound a still nearer one.
func TestBothLeavesTheBoundAlone(t *testing.T) {
	squares, bounds := map[Goal]float64{}, map[Goal]float64{}
	for goal := range goals {
		rows := testRows(600, 2, 21)
		c := testConfig(t, rows, true)
		c.Goal, c.Inducing, c.Plan.Joint = Goal(goal), 40, 40
		tr := newTestTrainer(t, c, rows)
		drive(t, tr, rows, 1000, nil)
		p, _, err := tr.Result()
		fatal.If(t, err)
		mean, _ := predict(t, p, 1, rows.X)
		for i, y := range rows.Y {
			squares[c.Goal] += (y - mean[i]) * (y - mean[i])
		}
		bounds[c.Goal] = tr.Progress().Bound
	}
	t.Logf("squared errors %v, bounds %v", squares, bounds)
	if !(squares[GoalBoth] < 0.98*squares[GoalBound]) || !(squares[GoalELBO] < squares[GoalBoth]) {
		t.Errorf("squared errors of elbo, both and bound: %g, %g, %g", squares[GoalELBO], squares[GoalBoth], squares[GoalBound])
	}
	if !(bounds[GoalBoth] <= polishMost*bounds[GoalBound]) {
		t.Errorf("both has bound %g, bound alone %g", bounds[GoalBoth], bounds[GoalBound])
	}
}

func TestNamedGoal(t *testing.T) {
	for goal, name := range goals {
		if got, ok := NamedGoal(name); !ok || got != Goal(goal) {
			t.Errorf("NamedGoal(%q) = %v, %v", name, got, ok)
		}
	}
	if _, ok := NamedGoal("likelihood"); ok {
		t.Error("NamedGoal takes any name")
	}
}
