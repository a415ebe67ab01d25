package pipeline_test

import (
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

// What a run lacks is told before rows are opened or the output is held: all of it at once.
func TestTrainNeedsItsPorts(t *testing.T) {
	ctx, declared := t.Context(), pipeline.Job{Target: "y", Loss: pipeline.LossDecl{EpsilonStd: 0.6}, Delta: 0.01}
	want := []string{"its defaults are not filled in", "Rows is not set", "Output is not set", "Software is not set"}
	_, err := pipeline.CertifyParts(ctx, nil, pipeline.Model{}, nil, declared, nil, nil, pipeline.RunConfig{})
	demandFaults(t, "CertifyParts", err, want)
	want = append(want, "Attempts is not set")
	_, err = pipeline.Train(ctx, declared, nil, nil, pipeline.RunConfig{})
	demandFaults(t, "Train", err, want)
	demandFaults(t, "TrainForParts", pipeline.TrainForParts(ctx, declared, nil, nil, pipeline.RunConfig{}), want)
}
