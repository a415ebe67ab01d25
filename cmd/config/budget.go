package config

import (
	"cmp"
	"errors"
	"runtime"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Budget is what a command may use, by its flags or its file.
type Budget struct {
	Workers Workers       `yaml:"workers"`
	Memory  yamlfile.Size `yaml:"memory"`
}

// Resources are those of the budget, with defaults.
func (b Budget) Resources() job.Resources {
	return job.Resources{Workers: cmp.Or(int(b.Workers), runtime.GOMAXPROCS(0)), Memory: int64(b.Memory)}.WithDefaults()
}

// Workers is a number of goroutines; 0: one a processor.
type Workers int

// maxWorkers bounds them: each has buffers of its own.
const maxWorkers = 1024

const wantWorkers = "want a number of workers from 1 to 1024"

// Form is a whole number.
func (n *Workers) Form() (yamlfile.Form, string) {
	return yamlfile.Accept(schema{"type": "integer", "minimum": 0, "maximum": maxWorkers}, func(node ast.Node) bool {
		return yamlfile.Int((*int)(n)).Read(node) == nil && 0 <= *n && *n <= maxWorkers
	}), wantWorkers
}

// Set reads the number from a flag.
func (n *Workers) Set(text string) error {
	v, err := strconv.Atoi(text)
	if *n = Workers(v); err != nil || v < 0 || v > maxWorkers {
		return errors.New(wantWorkers)
	}
	return nil
}
