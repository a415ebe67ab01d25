package main

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A budget has the flags for the resources of a command without a job.
type budget struct {
	memory  string
	workers int
}

func (b *budget) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.memory, "memory", "", "for counting duplicates and for large pages, as in 512MiB")
	cmd.Flags().IntVar(&b.workers, "workers", 0, workersUsage)
}

// resources are those that the flags give.
func (b budget) resources() (job.Resources, error) {
	var res job.Resources
	if err := config.CheckWorkers(b.workers); err != nil {
		return res, config.Argument(err)
	}
	res.Workers = cmp.Or(b.workers, runtime.GOMAXPROCS(0))
	if b.memory != "" {
		size, err := yamlfile.ParseSize(b.memory)
		if err != nil {
			return res, config.Argument(fmt.Errorf("--memory: %w", err))
		}
		res.Memory = int64(size)
	}
	return res.WithDefaults(), nil
}
