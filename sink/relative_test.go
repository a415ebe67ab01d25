package sink_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Tolerances that are a share of the target: both programs count the same rows, for the constant on their
// edges too, and refuse another share or kind. Targets are multiples of 0.2, some of them 0, of both signs.
func TestPythonVerifiesSharesOfTheTarget(t *testing.T) {
	verifytest.Need(t)
	rows := lakeWaves()
	zeros := 0
	for i, y := range rows[2] {
		rows[2][i] = math.Round(5*(y-10)) / 5
		if rows[2][i] == 0 {
			zeros++
		}
	}
	if zeros < 10 {
		t.Fatalf("%d targets are 0", zeros)
	}
	share := pipeline.LossDecl{Kind: certify.LossRelativeZeroOne, Epsilon: 0.4}
	held := publishRows(t, rows, func(j *pipeline.Job) { withHoldout(j); j.Loss, j.Train.Passes = share, 2 })
	units := publishRows(t, rows, func(j *pipeline.Job) {
		j.Unit.Block, j.Unit.Misses, j.Roles.Holdout, j.Guarantees = 5, new(0.6), 0.3, nil
		j.Loss, j.Inducing, j.Train.Passes = share, []int{5}, 2
	})
	sweep := publishRows(t, rows, func(j *pipeline.Job) {
		j.Inducing, j.Train.Passes, j.Loss = []int{5}, 2, share
		j.Sweep = []pipeline.Alternative{{Loss: pipeline.Tolerance{Epsilon: 1.5}}, {Loss: pipeline.Tolerance{Epsilon: 0.2}}}
	})
	const kind = `"kind":"relative-zero-one"`
	other := func(kind certify.LossKind, epsilon float64) func(c *certify.Certificate) {
		return certifiedAnew(t, func(ev *certify.Evidence) { ev.Loss.Kind, ev.Loss.Epsilon = kind, epsilon })
	}
	programsAgree(t, [][]string{
		{"verify", held.model, held.certificate, held.data},
		{"verify", units.model, units.certificate, units.data},
		{"verify", sweep.model, sweep.certificate, sweep.data},
		{"verify", held.model, held.certificate},
	}, held, []lie{
		{name: "another share", want: `loss.epsilon is`, change: other(certify.LossRelativeZeroOne, 0.5)},
		{name: "another share in the job", want: `loss.epsilon is`, from: `"epsilon":0.4`, to: `"epsilon":0.5`},
		{name: "another share in both", want: `loss.epsilon is`, from: `"epsilon":0.4`, to: `"epsilon":0.5`, change: other(certify.LossRelativeZeroOne, 0.5)},
		{name: "too large a share", want: `tolerances`, from: `"epsilon":0.4`, to: `"epsilon":1001`},
		{name: "a share in deviations", want: `tolerances`, from: `"epsilon":0.4`, to: `"epsilon_std":0.4`},
		{name: "a tolerance", want: `loss.kind is`, from: kind, to: `"kind":"zero-one"`, change: other(certify.LossZeroOne, 0.4)},
		{name: "a tolerance in the job", want: `loss.kind is`, from: kind, to: `"kind":"zero-one"`},
		{name: "a share of the error", want: `other tolerances|loss.kind is`, from: kind, to: `"kind":"relative"`},
	})

	m := copied(held.result.Model) // and a model of the other share, with the losses of this one
	m.Meta.Loss.Epsilon = 0.5
	args := forged(t, held, m, func(ev *certify.Evidence) {
		ev.Loss.Epsilon, ev.Accuracy = 0.5, ev.Accuracy/0.4*0.5
		ev.Configuration = []byte(strings.Replace(string(ev.Configuration), `"epsilon":0.4`, `"epsilon":0.5`, 1))
	})
	if run := verifytest.Verify(t, [][]string{args})[0]; run.Status != 1 || !strings.Contains(run.Out, "REFUSED") {
		t.Errorf("exit status %d:\n%s", run.Status, run.Out)
	}
	if err := goVerifies(t, args); err == nil {
		t.Error("the Go program accepts the losses of another share")
	}
	predictInBoth(t, publish(t, func(j *pipeline.Job) { j.Loss, j.Train.Passes = share, 2 }))
}
