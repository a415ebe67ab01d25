package lake_test

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// must keeps the example short: a program handles its errors.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Training over a lake. The directory out gets the model, the certificate, the log of
// attempts, the record of the run and the pointer.
func Example() {
	ctx, folder := context.Background(), must(os.MkdirTemp("", "lake"))
	defer os.RemoveAll(folder)
	rows := must(synth.New(synth.Config{Seed: 1, Noise: 0.1, Features: 1}))
	if err := rows.WriteLake(ctx, folder+"/lake", 2, 0, 2000); err != nil {
		panic(err)
	}
	job := must(pipeline.Job{Target: "y", Loss: pipeline.LossDecl{Epsilon: 0.6}, Delta: 0.01, Inducing: []int{20}}.WithDefaults())
	out, log := sinklake.NewOutput(folder+"/out", nil), sinklake.NewAttemptLog(folder+"/out/"+sinklake.AttemptsFile, nil)
	o := must(pipeline.Train(ctx, job, lake.Rows{folder + "/lake"}, out, pipeline.RunConfig{Attempts: log, Software: "example 1.0"}))
	mean := o.Result.Certificate.About(certify.PredictorMean, certify.AssumeHoldoutUnseen)
	fmt.Printf("%s: the mean is off by more than 0.6 in at most %.0f %% of fresh rows\n", mean.Status, math.Ceil(100*mean.Bound))
	// Output: certified: the mean is off by more than 0.6 in at most 3 % of fresh rows
}
