package pipelinetest_test

import (
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

func TestMemory(t *testing.T) {
	pipelinetest.TestSource(t, func(*testing.T) pipeline.Source {
		x, y := make([]float64, 25), make([]float64, 25)
		for i := range x {
			x[i], y[i] = float64(i)/8, float64(i*i)
		}
		m := pipelinetest.NewMemory([]string{"x", "y"}, [][]float64{x, y}, 10, 0, 7)
		m.BatchRows = 4
		return m
	})
}

func TestMemorySetIsSeenByLaterReadings(t *testing.T) {
	m := pipelinetest.NewMemory([]string{"y"}, [][]float64{{1, 2, 3}})
	_, before := pipelinetest.Read(t, m, 0)
	m.Set(1, 0, 2.5)
	values, after := pipelinetest.Read(t, m, 0)
	if values[0][1] != 2.5 {
		t.Errorf("row 1 after Set = %v, want 2.5", values[0][1])
	}
	if before[0] == after[0] {
		t.Error("the digest did not notice Set")
	}
}

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
