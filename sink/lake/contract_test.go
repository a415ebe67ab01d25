package lake_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects/objectstest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink/lake"
)

func TestPorts(t *testing.T) {
	pipelinetest.TestOutput(t, func(t *testing.T) func(*testing.T) pipeline.Output {
		dir := filepath.Join(t.TempDir(), "folder")
		return func(*testing.T) pipeline.Output { return lake.NewOutput(dir, nil) }
	})
	pipelinetest.TestOutput(t, func(t *testing.T) func(*testing.T) pipeline.Output {
		address := objectstest.New(t).Address("out/put")
		return func(*testing.T) pipeline.Output { return lake.NewOutput(address, nil) }
	})
}

// A damaged record of a run is skipped; a damaged pointer is an error, and nothing is
// removed then.
func TestDamagedRecords(t *testing.T) {
	dir := t.TempDir()
	o := lake.NewOutput(dir, nil)
	const run = "run-20240229T235000.000000001Z-a.json"
	for _, name := range []string{run, lake.CurrentFile, lake.LogFile} {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600))
	}
	all, err := o.Runs()
	fatal.If(t, err)
	for r := range all {
		t.Errorf("a damaged record is read as %v", r)
	}
	if c, err := o.Current(); err == nil {
		t.Errorf("a damaged pointer is read as %v", c)
	}
	if err := o.Retain(1); err == nil {
		t.Error("Retain with a damaged pointer: no error")
	}
}
