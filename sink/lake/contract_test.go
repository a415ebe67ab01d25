package lake_test

import (
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// directories opens a new directory again and again, each time after the last one was
// closed.
func directories(t *testing.T) (open func(t *testing.T) *lake.Directory) {
	t.Helper()
	dir := t.TempDir()
	var last *lake.Directory
	t.Cleanup(func() {
		if last != nil {
			_ = last.Close()
		}
	})
	return func(t *testing.T) *lake.Directory {
		t.Helper()
		if last != nil {
			if err := last.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if last, err = lake.Open(dir, nil); err != nil {
			t.Fatal(err)
		}
		return last
	}
}

func TestPorts(t *testing.T) {
	pipelinetest.TestSink(t, func(t *testing.T) func(*testing.T) pipeline.Sink {
		open := directories(t)
		return func(t *testing.T) pipeline.Sink { return open(t) }
	})
	pipelinetest.TestCheckpoints(t, func(t *testing.T) func(*testing.T) pipeline.Checkpoints {
		open := directories(t)
		return func(t *testing.T) pipeline.Checkpoints { return open(t).Checkpoint("1") }
	})
	pipelinetest.TestAttempts(t, func(t *testing.T) func(*testing.T) pipeline.Attempts {
		path := filepath.Join(t.TempDir(), "folder", "attempts.jsonl")
		return func(*testing.T) pipeline.Attempts { return lake.NewAttemptLog(path, nil) }
	})
}
