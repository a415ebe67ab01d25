package pipelinetest

import (
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline"
)

// NewMemory is [pipeline.Columns] for tests: it panics if the lengths do not fit together.
func NewMemory(names []string, data [][]float64, shardRows ...int) *pipeline.Table {
	t, err := pipeline.Columns(names, data, shardRows...)
	if err != nil {
		panic(fmt.Sprintf("pipelinetest: %v", err))
	}
	return t
}
