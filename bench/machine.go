package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

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
	return fmt.Sprintf("`make bench`, %s: %s, %d processors, instruction set %s; %s, %s/%s; %s. Medians of %d interleaved runs.",
		time.Now().UTC().Format(time.DateOnly), processor(), runtime.NumCPU(), model.InstructionSet(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, peers, b.rounds), nil
}

// processor names the processor, as far as the system tells.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	var name, family, number string
	first, _, _ := strings.Cut(string(text), "\n\n")
	for line := range strings.Lines(first) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "model name":
			name = value
		case "cpu family":
			family = value
		case "model":
			number = value
		}
	}
	if name == "" {
		return runtime.GOARCH
	}
	return fmt.Sprintf("%s (family %s, model %s)", name, family, number)
}
