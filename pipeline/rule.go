package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

const (
	// ruleHoldout is the share of the rows that certifies a model by rule, and ruleInducing its number
	// of inducing points, where the job names none.
	ruleHoldout  = 0.5
	ruleInducing = 1000
	// ruleWeight is that of its hold-out method, beside 1.
	ruleWeight = 99
)

// byRule completes a job whose model follows from its reference and train rows by a rule.
func (j Job) byRule() Job {
	if j.Train.Method != MethodRule {
		return j
	}
	if j.Roles.Holdout == 0 {
		j.Roles.Holdout = ruleHoldout
	}
	if j.Grid.Prior == "" && j.Grid.Width == 0 {
		j.Grid.Prior = certify.PriorFlat // of the estimate the rule makes more than a centre
	}
	if j.Grid.Min == 0 && j.Grid.Max == 0 {
		j.Grid.Min, j.Grid.Max = DefaultGrid.Min, DefaultGrid.Max
	}
	j.Grid.Step = cmp.Or(j.Grid.Step, coarseStep)
	if len(j.Guarantees) == 0 { // that of a draw is for completeness
		j.Guarantees = []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 1}, {ID: j.Loss.heldOut(), Weight: ruleWeight}}
	}
	return j
}

// checkRule finds what leaves a choice that the rule does not have.
func (j Job) checkRule(fault func(string, ...any)) {
	if j.Train.Method != MethodRule {
		return
	}
	if len(j.Kernel.Family) > 1 || len(j.Inducing) > 1 {
		fault("train.method: %s takes one kernel and one number of inducing points: there is nothing to choose by", MethodRule)
	}
	if j.Mean.given() {
		fault("mean.column: it does not go with train.method %s", MethodRule)
	}
	if j.Train.Alpha != nil || j.Train.FreeAlpha || j.Train.Evaluations != 0 || len(j.Train.Noise) > 0 || j.Train.Time != 0 || j.Train.Seed != 0 {
		fault("train: alpha, free_alpha, evaluations, noise, time and seed do not go with the method %s, which chooses nothing", MethodRule)
	}
}

// ruled translates the method rule.
func (TrainDecl) ruled(c model.Config) model.Config {
	c.Plan = model.Plan{}
	if c.Inducing == 0 {
		c.Inducing = int(min(ruleInducing, c.N))
	}
	return c
}

// newRule returns the trainer of the method rule.
func (t *training) newRule(c candidate, state []byte) (trainer, error) {
	config, first := t.job.Train.ruled(c.config), t.referenceRows()
	if state != nil {
		return model.ResumeRule(config, state, t.start, first)
	}
	r, err := model.NewRule(config, t.start, first)
	if errors.Is(err, model.ErrUndecided) {
		err = fmt.Errorf("%w: %w", ErrData, err)
	}
	return r, err
}

// referenceRows are the reference rows, scaled, in the order of their ordinals.
func (t *training) referenceRows() model.Rows {
	return t.survey.scaled(t.survey.reference)
}

// same reports whether two models have the same numbers, to the last bit.
func (m Model) same(o Model) bool {
	a, b := m.Posterior, o.Posterior
	noise := func(n *Noise) Noise {
		if n == nil {
			return Noise{}
		}
		return *n
	}
	return noise(m.Meta.Noise) == noise(o.Meta.Noise) && a.Jitter == b.Jitter && slices.Equal(a.Z, b.Z) && slices.Equal(a.Mean, b.Mean) &&
		slices.Equal(a.L, b.L) && slices.Equal(a.Factor, b.Factor) &&
		a.Kernel.Variance == b.Kernel.Variance && slices.Equal(a.Kernel.Lengthscales, b.Kernel.Lengthscales) && m.Meta.Kernel == o.Meta.Kernel
}
