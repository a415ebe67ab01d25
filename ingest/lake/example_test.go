package lake_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// must keeps the example short: a program handles its errors.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Training over a lake. The directory out gets the model, the certificate, the log, the
// record of the run and the pointer.
func Example() {
	ctx, folder := context.Background(), must(os.MkdirTemp("", "lake"))
	defer os.RemoveAll(folder)
	rows := must(synth.New(synth.Config{Seed: 1, Noise: 0.1, Features: 1}))
	if err := rows.WriteLake(ctx, folder+"/lake", 2, 0, 2000); err != nil {
		panic(err)
	}
	job := must(job.Job{Target: "y", Loss: job.LossDecl{Epsilon: 0.6}, Delta: 0.01, Inducing: []int{20}}.WithDefaults())
	out := sinklake.NewOutput(folder+"/out", nil)
	o := must(pipeline.Train(ctx, job, lake.Rows{folder + "/lake"}, out, pipeline.RunConfig{Software: "example 1.0"}))
	mean := o.Result.Certificate.About(certify.PredictorMean)
	fmt.Printf("%s: the mean is off by more than 0.6 in at most %.0f %% of fresh rows\n", mean.Status, math.Ceil(100*mean.Bound))
	// Output: certified: the mean is off by more than 0.6 in at most 2 % of fresh rows
}

// A job that is trained again whenever a file has come. Its output keeps what is known between runs;
// Serve, instead of Look, polls until it is stopped.
func Example_schedule() {
	ctx, folder := context.Background(), must(os.MkdirTemp("", "lake"))
	defer os.RemoveAll(folder)
	rows := must(synth.New(synth.Config{Noise: 0.1, Features: 1}))
	job := must(job.Job{Target: "y", Loss: job.LossDecl{Epsilon: 0.6}, Delta: 0.01, Inducing: []int{20}, Repeated: true}.WithDefaults())
	var s schedule.Scheduler
	waves := &schedule.Job{
		Name: "waves", Job: job, Output: sinklake.NewOutput(folder+"/out", nil), Lake: lake.Listing{Paths: lake.Rows{folder + "/lake"}, Folder: folder},
		Files: schedule.Files{Which: schedule.FilesAll}, Triggers: []schedule.Trigger{{Key: "file", Files: 1}},
		How: pipeline.RunConfig{Required: certify.PredictorMean, Software: "example 1.0"}, Software: "example 1.0",
	}
	for day := range int64(2) {
		if err := rows.WriteLake(ctx, fmt.Sprintf("%s/lake/day=%d", folder, day), 1, 1000*day, 1000); err != nil {
			panic(err)
		}
		run := must(s.Look(ctx, waves, time.Now()))
		fmt.Println(run.Scheduled.Job, run.Scheduled.Sequence, run.State, len(run.Scheduled.Files), run.Scheduled.Current)
	}
	// Output:
	// waves 1 finished 1 true
	// waves 2 finished 2 true
}
