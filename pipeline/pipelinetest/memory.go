package pipelinetest

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// Memory is a table that is also a source of all its columns, in their order.
type Memory struct {
	dataset.Opened
	Table *dataset.Table
}

// NewMemory is [dataset.Columns] for tests. It panics instead of returning an error.
func NewMemory(names []string, data [][]float64, shardRows ...int) Memory {
	t, err := dataset.Columns(names, data, shardRows...)
	if err != nil {
		panic(fmt.Sprintf("pipelinetest: %v", err))
	}
	m := Memory{Table: t}
	return Memory{m.Choose(dataset.Choice{Features: names}), t}
}

// Choose opens chosen columns of the table. It panics if one is missing.
//
//nolint:contextcheck,nolintlint // read where callers are checked: opening a table takes no time
func (m Memory) Choose(c dataset.Choice) dataset.Opened {
	src, err := m.Table.Open(context.Background(), c)
	if err != nil {
		panic(fmt.Sprintf("pipelinetest: %v", err))
	}
	return src
}
