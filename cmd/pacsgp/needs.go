package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/machine"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
)

// needs are the bytes that a command will use, known before it starts. Too many are refused
// then, and not after hours.
type needs struct {
	reading int64 // of memory, for pages
	memory  int64 // in all
	disk    int64 // for temporary files, to count copies
}

// surplus bounds, in percent, how far estimates exceed the real use.
const surplus = 25

// met refuses needs above the budget for memory or the machine's. instead adds to the hints.
func (n needs) met(w system, budget int64, instead string) error {
	var faults []error
	if n.reading > (pipeline.Resources{Memory: budget}).PageMemory() {
		faults = append(faults, fmt.Errorf("reading these files takes %d MiB for pages that have to be in memory as a whole, and the budget is %d MiB\n"+
			"hint: raise memory to %[1]d MiB, name fewer features, or write the files with smaller pages and without BYTE_STREAM_SPLIT%[3]s",
			n.reading>>20+1, budget>>20, instead))
	}
	if allowed := w.memory(); allowed > 0 && n.memory-n.memory*surplus/(100+surplus) > allowed {
		faults = append(faults, fmt.Errorf("this takes %s of memory, and the process may have %s (the machine, its control group or ulimit -v)\n"+
			"hint: give it more%s", machine.Bytes(n.memory), machine.Bytes(allowed), instead))
	}
	folder := os.TempDir()
	if free, known := w.room(folder); known && n.disk > free {
		faults = append(faults, fmt.Errorf("counting copies takes up to %s on the disk, in %s, where %s are free\n"+
			"hint: set TMPDIR to a folder with more room, or memory to %s, so that no disk is needed", machine.Bytes(n.disk), folder, machine.Bytes(free), machine.Bytes(n.disk)))
	}
	return errors.Join(faults...)
}

// less are ways of a job to less memory.
const less = ", or set fewer workers or fewer inducing points"

// lessHere is one for a command without a job.
const lessHere = ", or set fewer --workers"

// A budget has the flags for the resources of a command without a job.
type budget struct {
	memory  string
	workers int
}

func (b *budget) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.memory, "memory", "", "for counting copies and for large pages, as in 512MiB")
	cmd.Flags().IntVar(&b.workers, "workers", 0, workersUsage)
}

// resources are those that the flags give.
func (b budget) resources() (pipeline.Resources, error) {
	var res pipeline.Resources
	if b.workers < 0 || b.workers > config.MaxWorkers {
		return res, config.Argument(fmt.Errorf("--workers: %d is not in 1 to %d", b.workers, config.MaxWorkers))
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
