package pipeline_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// eachMethod calls f for a job of each method of the paper.
func eachMethod(t *testing.T, f func(t *testing.T, change func(*job.Job))) {
	for _, name := range append(job.Methods()[1:], "kl-PAC-SGP, mini-batch") {
		t.Run(name, func(t *testing.T) {
			f(t, func(j *job.Job) {
				name, batches := strings.CutSuffix(name, ", mini-batch")
				j.Train.Method, j.Train.Passes, j.Inducing = job.Method(name), 15, []int{12}
				if batches {
					j.Train.Mode, j.Train.Batch, j.Train.Buffer, j.Train.Passes = job.TrainMiniBatch, 40, 70, 2
				}
				j.Loss, j.Scaling, j.Grid = job.LossDecl{Epsilon: 0.4}, job.ScalingNone, job.PaperGrid
				if strings.HasSuffix(name, "-GP") {
					j.Inducing = nil
				}
			})
		})
	}
}

// Every method goes through the same last pass to a certificate that verifies, with the
// model that training again gives, whatever the number of workers.
func TestMethodsAreCertified(t *testing.T) {
	l := newLake(waves(300, 0.2, 4), 120, 180)
	eachMethod(t, func(t *testing.T, change func(*job.Job)) {
		p := publish(t, l, change)
		draw := p.certificate.About(certify.PredictorDraw)
		if draw.N != 300 || draw.Status != certify.StatusCertified || !(draw.Bound < 0.9) {
			t.Errorf("bound %v of %d rows, %s", draw.Bound, draw.N, draw.Status)
		}
		if _, err := p.verify(t, p.certificate, p.result.Model, p.certificate.Model.Digest, l); err != nil {
			t.Error(err)
		}
		var store pipelinetest.Store
		env := l.environment(&store)
		env.Resources.Workers = 3
		if again := run(t, testJob(t, change), env); !reflect.DeepEqual(again.Model, p.result.Model) {
			t.Error("three workers give another model")
		}
	})
}

// A run that is broken off after any step, and resumed, gives the same bytes.
func TestMethodsResume(t *testing.T) {
	l := newLake(waves(120, 0.2, 4), 120)
	eachMethod(t, func(t *testing.T, change func(*job.Job)) {
		less := func(j *job.Job) { change(j); j.Train.Passes = min(j.Train.Passes, 4) }
		whole := publish(t, l, less)
		var store pipelinetest.Store
		for steps := 0; ; steps++ {
			if steps > 200 {
				t.Fatal("it does not end")
			}
			ctx, stop := context.WithCancel(t.Context())
			seen := 0
			env := l.environment(&store)
			env.Observer.Progress = func(p job.Progress) {
				if seen++; p.Phase == job.PhaseTrain && seen > 5 {
					stop()
				}
			}
			r, err := pipeline.Run(ctx, testJob(t, less), env)
			stop()
			if err == nil {
				if !reflect.DeepEqual(r.Model, whole.result.Model) {
					t.Error("it gives another model")
				}
				return
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
	})
}

// More rows than a certified model may have inducing points are refused before training.
func TestExactProcessOfTooManyRowsIsRefused(t *testing.T) {
	l := newLake(waves(certify.MaxInducing+1, 0.2, 4), certify.MaxInducing+1)
	_, err := pipeline.Run(t.Context(), testJob(t, func(j *job.Job) {
		unscaled(j)
		j.Inducing, j.Train.Method, j.Grid = nil, job.MethodFullGP, job.PaperGrid
	}), l.environment(&pipelinetest.Store{}))
	if !errors.Is(err, job.ErrConfig) || !strings.Contains(err.Error(), "each of the 4001 rows an inducing point, and a certified model may have 4000") {
		t.Error(err)
	}
}
