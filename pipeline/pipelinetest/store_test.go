package pipelinetest_test

import (
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

func TestStore(t *testing.T) {
	pipelinetest.TestOutput(t, func(*testing.T) func(*testing.T) pipeline.Output {
		s := &pipelinetest.Store{}
		return func(*testing.T) pipeline.Output { return &pipelinetest.Output{Store: s} }
	})
}
