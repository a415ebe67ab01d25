package pipeline_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// someRows fits Q to about so many train rows.
func someRows(rows int64) func(*pipeline.Job) {
	return func(j *pipeline.Job) { tiny(j); withHoldout(0.2)(j); j.Train.Rows = rows }
}

// Q is fitted to a part of the train rows and certified on all of them, the same whatever the
// memory and the number of workers.
func TestSomeRowsFitAndAllCertify(t *testing.T) {
	l := newLake(waves(1200, 0.3, 96), 400, 1, 799)
	whole, some := publish(t, l, someRows(0)), publish(t, l, someRows(400))
	if got, want := some.certificate.Ledger, whole.certificate.Ledger; got.Train != want.Train || got.Holdout != want.Holdout || got.Train < 800 {
		t.Errorf("ledger %+v, want %+v", got, want)
	}
	if got := some.result.Training.Rows; got < 330 || got > 470 || whole.result.Training.Rows != 0 {
		t.Errorf("fitted to %d rows, want about 400, and %d, want 0 for all", got, whole.result.Training.Rows)
	}
	if some.result.ModelDigest == whole.result.ModelDigest {
		t.Error("fewer rows fit the same model")
	}
	_, err := some.verify(t, some.certificate, some.result.Model, some.result.ModelDigest, l)
	fatal.If(t, err)
	store := &pipelinetest.Store{}
	env := l.environment(store)
	env.Resources = pipeline.Resources{Workers: 3, Memory: streamed}
	run(t, job(t, someRows(400)), env)
	if !bytes.Equal(store.Certificates[0], some.document) {
		t.Error("another certificate with other memory and workers")
	}
	if all := publish(t, l, someRows(2000)); all.result.ModelDigest != whole.result.ModelDigest {
		t.Error("more rows than there are fit another model than all")
	}
}

// The rows are train rows, in their order, kept and streamed.
func TestFeedOfSomeRows(t *testing.T) {
	columns := waves(3000, 0.1, 97)
	feed := func(rows, memory int64) pipeline.Feed {
		f, err := pipeline.NewFeed(t.Context(), source(columns, 1200, 0, 1800), job(t, someRows(rows)), pipeline.Resources{Workers: 2, Memory: memory})
		fatal.If(t, err)
		return f
	}
	_, all, _ := fullPass(t, feed(0, kept))
	_, some, _ := fullPass(t, feed(800, kept))
	_, again, _ := fullPass(t, feed(800, streamed))
	if !slices.Equal(some, again) || int64(len(some)) != feed(800, kept).Train() || len(some) < 700 || len(some) > 900 {
		t.Errorf("%d rows kept, %d streamed, want the same 800 about", len(some), len(again))
	}
	for at, y := range some {
		next := slices.Index(all, y)
		if next < 0 {
			t.Fatalf("row %d is no train row behind the one before", at)
		}
		all = all[next+1:]
	}
}

// A job whose training cannot be of a part of the rows is refused.
func TestSomeRowsDeclared(t *testing.T) {
	for want, change := range map[string]func(*pipeline.Job){
		"99 is no number of rows from 100": func(j *pipeline.Job) { j.Train.Rows = 99 },
		"train.method FITC reads all":      func(j *pipeline.Job) { j.Train = pipeline.TrainDecl{Method: pipeline.MethodFITC, Rows: 500} },
		"does not go with unit":            func(j *pipeline.Job) { j.Train.Rows, j.Unit.Columns = 500, []string{"day"} },
	} {
		j := pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}}
		change(&j)
		_, err := j.WithDefaults()
		if !errors.Is(err, pipeline.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

// A plan tells both numbers. Too few rows an inducing point are noticed.
func TestPlanOfSomeRows(t *testing.T) {
	sample := pipeline.Sample{Rows: 300_000, Features: 4, Shards: 3, Batch: 1000}
	planned := func(rows int64, m int) (pipeline.Plan, []string) {
		j := job(t, func(j *pipeline.Job) { someRows(rows)(j); j.Inducing = []int{m} })
		p, err := pipeline.NewPlan(j, sample, pipeline.Resources{})
		fatal.If(t, err)
		return p, j.Noticed()
	}
	all, _ := planned(0, 100)
	some, said := planned(3000, 100)
	if some.Fitted != 3000 || all.Fitted != 0 || some.Train != all.Train {
		t.Errorf("plan %+v, want 3,000 rows to fit, and the train rows of %+v", some, all)
	}
	if len(said) > 0 {
		t.Errorf("30 rows an inducing point are noticed: %q", said)
	}
	if _, said := planned(1900, 100); len(said) != 1 || !strings.Contains(said[0], "which is 19 for each of 100 inducing points") {
		t.Errorf("19 rows an inducing point: %q", said)
	}
}
