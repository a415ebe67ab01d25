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

// Training over a lake. The directory out gets the model, the certificate and the log of
// attempts.
func Example() {
	ctx, folder := context.Background(), must(os.MkdirTemp("", "lake"))
	defer os.RemoveAll(folder)
	rows := must(synth.New(synth.Config{Seed: 1, Noise: 0.1, Features: 1}))
	if err := rows.WriteLake(ctx, folder+"/lake", 2, 0, 2000); err != nil {
		panic(err)
	}
	job := must(pipeline.Job{Target: "y", Loss: pipeline.LossDecl{Epsilon: 0.6}, Delta: 0.01, Inducing: []int{20}}.WithDefaults())
	out := must(sinklake.Open(folder+"/out", nil))
	defer out.Close()
	checkpoint := out.Checkpoint(must(job.Digest()).String())
	r := must(pipeline.Run(ctx, job, pipeline.Environment{
		Open: func(ctx context.Context, features []string) (pipeline.Source, error) {
			return lake.Open(ctx, lake.Config{Paths: []string{folder + "/lake"}, Features: features, Target: job.Target})
		},
		Sink: out, Attempts: out.AttemptLog(), Checkpoints: checkpoint, Software: "example 1.0",
	}))
	mean := r.Certificate.About(certify.PredictorMean, certify.AssumeHoldoutUnseen)
	fmt.Printf("%s: the mean is off by more than 0.6 in at most %.0f %% of fresh rows\n", mean.Status, math.Ceil(100*mean.Bound))
	if err := checkpoint.Clear(ctx); err != nil {
		panic(err)
	}
	// Output: certified: the mean is off by more than 0.6 in at most 3 % of fresh rows
}
