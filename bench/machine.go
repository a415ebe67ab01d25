package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/pacsgp/pacsgp/model"
)

// machine says where, when and with what the tables were made.
func (b *bench) machine(ctx context.Context) (string, error) {
	peers := "no Python"
	if b.python != "" {
		const versions = `import platform, importlib.metadata as m
print("Python " + platform.python_version(), *(f"{p} {m.version(p)}" for p in ("torch", "scipy", "gpytorch", "pyarrow")), sep=", ")`
		out, err := exec.CommandContext(ctx, b.python, "-c", versions).Output()
		if err != nil {
			return "", fmt.Errorf("versions of the peers: %w", err)
		}
		peers = strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("`make bench`, %s: %s, %d processors, %s; %s, %s/%s; %s. Medians of %d rounds.",
		time.Now().UTC().Format(time.DateOnly), processor(), runtime.NumCPU(), model.InstructionSet(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, peers, b.rounds), nil
}

// processor names the processor, as far as it tells.
func processor() string {
	c := cpuid.CPU
	if c.BrandName == "" {
		return runtime.GOARCH
	}
	return fmt.Sprintf("%s (family %d, model %d)", c.BrandName, c.Family, c.Model)
}

// processorTime is the work of the processors since the machine started, in ticks.
type processorTime struct{ stolen, all float64 }

// readProcessorTime returns zeros where the system does not tell.
func readProcessorTime() processorTime {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processorTime{}
	}
	return parseProcessorTime(string(text))
}

// parseProcessorTime reads the first line of /proc/stat: user, nice, system, idle,
// iowait, irq, softirq, steal, and guests', which the first two contain.
func parseProcessorTime(text string) processorTime {
	const fields, stolen = 8, 7
	first, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(first)
	if len(words) <= fields || words[0] != "cpu" {
		return processorTime{}
	}
	var t processorTime
	for i, word := range words[1 : 1+fields] {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return processorTime{}
		}
		t.all += v
		if i == stolen {
			t.stolen = v
		}
	}
	return t
}

// stolenSince is the share that the hypervisor gave to others.
func (t processorTime) stolenSince(before processorTime) float64 {
	if t.all <= before.all {
		return 0
	}
	return (t.stolen - before.stolen) / (t.all - before.all)
}
