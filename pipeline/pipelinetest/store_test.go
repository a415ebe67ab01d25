package pipelinetest_test

import (
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

func TestStore(t *testing.T) {
	pipelinetest.TestSink(t, func(*testing.T) func(*testing.T) pipeline.Sink {
		s := &pipelinetest.Store{}
		return func(*testing.T) pipeline.Sink { return s }
	})
	pipelinetest.TestAttempts(t, func(*testing.T) func(*testing.T) pipeline.Attempts {
		s := &pipelinetest.Store{}
		return func(*testing.T) pipeline.Attempts { return s }
	})
	pipelinetest.TestCheckpoints(t, func(*testing.T) func(*testing.T) pipeline.Checkpoints {
		s := &pipelinetest.Store{}
		return func(*testing.T) pipeline.Checkpoints { return s }
	})
}
