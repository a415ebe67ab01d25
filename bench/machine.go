package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
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
