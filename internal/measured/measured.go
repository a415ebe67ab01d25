// Package measured is what the programs that fill docs/results.md share: where the data
// are, the command that is measured, what a process took, and the sections of the page.
package measured

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// Data is where the data sets are, as for the tests.
func Data() string {
	if dir := os.Getenv("PACSGP_DATA"); dir != "" {
		return dir
	}
	return filepath.Join("..", "shared", "data")
}

// Build makes the command, as it is shipped, in a folder, and returns its path.
func Build(ctx context.Context, folder string, log io.Writer) (string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	binary, err := filepath.Abs(filepath.Join(folder, "pacsgp"))
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/pacsgp")
	build.Stderr = log
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return binary, build.Run()
}

// Peak is the peak memory of a finished process in MiB.
func Peak(p *os.ProcessState) float64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) / 1024
	}
	return 0
}

// Machine says where and when something was measured.
func Machine(instructions string) string {
	return fmt.Sprintf("%s, %s/%s, %d processors, instruction set %s, %s",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), instructions, time.Now().UTC().Format(time.DateOnly))
}

// ReplaceSection replaces what stands between the two lines of the page that name the
// section.
func ReplaceSection(path, name, text string) error {
	begin, end := []byte("<!-- "+name+": begin -->"), []byte("<!-- "+name+": end -->")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	from, to := bytes.Index(page, begin), bytes.Index(page, end)
	if from < 0 || to < from {
		return fmt.Errorf("%s has no section %s", path, begin)
	}
	page = slices.Concat(page[:from+len(begin)], []byte("\n"+text+"\n"), page[to:])
	return durable.WriteFile(durable.OS{}, path, page)
}
