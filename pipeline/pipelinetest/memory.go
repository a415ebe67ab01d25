package pipelinetest

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline"
)

// Memory is a table, and the source of all its columns in their order.
type Memory struct {
	pipeline.Opened
	Table *pipeline.Table
}

// NewMemory is [pipeline.Columns] for tests: it panics if the lengths do not fit together.
func NewMemory(names []string, data [][]float64, shardRows ...int) Memory {
	t, err := pipeline.Columns(names, data, shardRows...)
	if err != nil {
		panic(fmt.Sprintf("pipelinetest: %v", err))
	}
	m := Memory{Table: t}
	return Memory{m.Choose(pipeline.Choice{Features: names}), t}
}

// Choose opens the table; it panics if chosen columns are missing.
//
//nolint:contextcheck,nolintlint // read where callers are checked: opening a table takes no time
func (m Memory) Choose(c pipeline.Choice) pipeline.Opened {
	src, err := m.Table.Open(context.Background(), c)
	if err != nil {
		panic(fmt.Sprintf("pipelinetest: %v", err))
	}
	return src
}
