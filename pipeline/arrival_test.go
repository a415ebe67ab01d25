package pipeline_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// arriving makes a job of 480 rows one that trains while they arrive.
func arriving(j *pipeline.Job) {
	j.Inducing, j.Train.Passes = []int{12}, 3
	j.Train.Mode, j.Train.Rows, j.Train.Batch = pipeline.TrainArrival, 480, 60
	j.Roles.By, j.Roles.Reference = pipeline.RolesByPosition, 40
}

// TestEarlyTrainingChangesNothing: whether its steps are made while the rows arrive, in one
// process or in several, or when all are there, by one worker or three, with rows in memory
// or read again, a job gives the same bytes; and so does training again.
func TestEarlyTrainingChangesNothing(t *testing.T) {
	l := newLake(waves(480, 0.1, 7), 100, 50, 30, 100, 60, 80, 60)
	for name, change := range map[string]func(*pipeline.Job){
		"as planned":       nil,
		"fewer rows":       func(j *pipeline.Job) { j.Train.Rows = 600 },
		"more rows":        func(j *pipeline.Job) { j.Train.Rows = 360 },
		"hold-out":         heldApart,
		"small reservoir":  func(j *pipeline.Job) { j.Train.Buffer = 40 },
		"bad rows allowed": func(j *pipeline.Job) { j.BadRows.Tolerance = 0.01 },
	} {
		t.Run(name, func(t *testing.T) {
			l.mark = name == "bad rows allowed"
			j := job(t, func(j *pipeline.Job) {
				arriving(j)
				if change != nil {
					change(j)
				}
			})
			want := publish(t, l, func(d *pipeline.Job) { *d = j })
			var small pipelinetest.Store
			env := l.environment(&small)
			env.Resources = pipeline.Resources{Workers: 3, Memory: 1}
			run(t, j, env)
			if !bytes.Equal(small.Certificates[0], want.document) {
				t.Error("three workers that read the rows again make another certificate")
			}
			for _, every := range []int{1, 3, 7} {
				var store pipelinetest.Store
				env := l.environment(&store)
				early := pipeline.NewEarlyTrainer(j, env)
				for k := 1; k <= len(l.shards); k++ {
					if k%every == 0 {
						early = pipeline.NewEarlyTrainer(j, env) // another process
					}
					fatal.If(t, early.Add(t.Context(), l.first(t, k)))
				}
				if store.State == nil {
					t.Fatal("training early has left no checkpoint")
				}
				if r := run(t, j, env); !r.Training.Resumed {
					t.Error("the run does not go on from what was trained early")
				}
				if !bytes.Equal(store.Certificates[0], want.document) {
					t.Errorf("trained early, with a new process for every %d shards, it is another certificate", every)
				}
			}
			if _, err := want.retrain(t, want.certificate, want.result.Model, want.result.ModelDigest, pipeline.Resources{}); err != nil {
				t.Errorf("training again: %v", err)
			}
		})
	}
}

// heldApart keeps a tenth of the rows apart.
func heldApart(j *pipeline.Job) {
	j.Roles.Holdout = 0.1
	j.Guarantees = []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 1}, {ID: certify.MethodHoldout, Weight: 1}}
}

// first is a source of the first shards of a lake.
func (l *lake) first(t *testing.T, k int) pipeline.Source {
	t.Helper()
	rows := 0
	for _, n := range l.shards[:k] {
		rows += n
	}
	part := *l
	part.shards, part.columns = l.shards[:k], nil
	for _, c := range l.columns {
		part.columns = append(part.columns, c[:rows])
	}
	src, err := part.open(t.Context(), nil)
	fatal.If(t, err)
	return src
}

// TestHoldoutRowsEnterNoEarlyStep: other targets of hold-out rows give the same model,
// trained early.
func TestHoldoutRowsEnterNoEarlyStep(t *testing.T) {
	columns := waves(480, 0.1, 7)
	j := job(t, func(j *pipeline.Job) { arriving(j); heldApart(j) })
	l := newLake(columns, 160, 160, 160)
	p := publish(t, l, func(d *pipeline.Job) { *d = j })
	other := newLake([][]float64{columns[0], columns[1], append([]float64(nil), columns[2]...)}, 160, 160, 160)
	roles, err := pipeline.NewRolesByPosition("pacsgp", 480, 40, 0.1, pipeline.OrdinalSet{})
	if err != nil || roles.Holdout() == 0 {
		t.Fatal(err, "or no row is held out")
	}
	for _, i := range roles.HoldoutRows(160) {
		other.columns[2][i] += 5
	}
	q := publish(t, other, func(d *pipeline.Job) { *d = j })
	if p.result.ModelDigest != q.result.ModelDigest {
		t.Error("the targets of hold-out rows have changed the model")
	}
}

// A checkpoint that was made on other rows is not gone on with.
func TestEarlyStepsOfOtherRowsAreNotResumed(t *testing.T) {
	l := newLake(waves(480, 0.1, 7), 160, 160, 160)
	j := job(t, arriving)
	var store pipelinetest.Store
	env := l.environment(&store)
	fatal.If(t, pipeline.NewEarlyTrainer(j, env).Add(t.Context(), l.first(t, 2)))
	other := newLake(waves(480, 0.1, 7), 160, 120, 200)
	env.Open = func(ctx context.Context, features []string) (pipeline.Source, error) {
		return other.open(ctx, features)
	}
	if r := run(t, j, env); r.Training.Resumed {
		t.Error("a checkpoint of other shards was resumed")
	}
}
