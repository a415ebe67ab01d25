// Package measured has the parts that are shared by the programs that fill results.md and paper.md in
// docs/explanation: the folder of the data, the command under test and its runs, and the sections of a page.
package measured

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/cpuid/v2"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// Main runs a program until it ends or is interrupted. It changes from the module's folder, where go -C bench
// run starts it, to the root of the tree, to which all paths are relative.
func Main(program string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	_, err := os.Stat("peers")
	if err != nil {
		err = fmt.Errorf("start it by go -C bench run: %w", err)
	} else if err = os.Chdir(".."); err == nil {
		err = run(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}

// Data returns the folder of the data sets, which tests use too.
func Data() string {
	if dir := os.Getenv("PACSGP_DATA"); dir != "" {
		return dir
	}
	return filepath.Join("..", "shared", "data")
}

// Build builds a package in a folder by a command of go, as it is shipped, and returns the path of the binary.
func Build(ctx context.Context, folder string, log io.Writer, pkg string, command ...string) (string, error) {
	binary, err := filepath.Abs(filepath.Join(folder, filepath.Base(pkg)))
	if err := errors.Join(err, os.MkdirAll(folder, 0o755)); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", slices.Concat(command, []string{"-o", binary, pkg})...)
	build.Stderr = log
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return binary, build.Run()
}

// A Run is what pacsgp train --json prints about a run, with its process.
type Run struct {
	Certificate string `json:"certificate"`
	Model       string `json:"model"`
	Diagnostics struct {
		Train    float64 `json:"train_seconds"`
		LastPass float64 `json:"last_pass_seconds"`
	} `json:"diagnostics"`
	Process *os.ProcessState `json:"-"`
}

// Train writes a job into a folder, removes the folder artifact of an earlier run, and runs the command. A run
// without a certified claim is no error. The error of a failed run has its log.
func Train(ctx context.Context, binary, dir, job string) (r Run, err error) {
	path := filepath.Join(dir, "job.yaml")
	if err := errors.Join(os.WriteFile(path, []byte(job), 0o644), os.RemoveAll(filepath.Join(dir, "artifact"))); err != nil {
		return r, err
	}
	const notCertified = 3
	cmd := exec.CommandContext(ctx, binary, "train", "-c", path, "--json")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() != notCertified {
		return r, fmt.Errorf("%w: %s", err, exit.Stderr)
	} else if err != nil && !ok {
		return r, err
	}
	r.Process = cmd.ProcessState
	return r, json.Unmarshal(out, &r)
}

// Peak returns the peak memory of a finished process in MiB; 0 if it is unknown.
func Peak(p *os.ProcessState) float64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) / 1024
	}
	return 0
}

// Machine returns a text that names the machine, its instruction set, and today's date.
func Machine(instructions string) string {
	processor := cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH)
	if cpuid.CPU.BrandName != "" {
		processor += fmt.Sprintf(" (family %d, model %d)", cpuid.CPU.Family, cpuid.CPU.Model)
	}
	return fmt.Sprintf("%s, %d processors, %s; %s, %s/%s; %s",
		processor, runtime.NumCPU(), instructions, runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.DateOnly))
}

// A Table is a Markdown table. Its first line is the head.
type Table [][]string

// Add adds a line.
func (t *Table) Add(cells ...string) { *t = append(*t, cells) }

// String returns the table as Markdown.
func (t Table) String() string {
	var out strings.Builder
	for i, line := range t {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			fmt.Fprintf(&out, "|%s\n", strings.Repeat("--|", len(line)))
		}
	}
	return out.String()
}

// SavePNG writes a picture as a PNG file.
func SavePNG(path string, picture *vgimg.Canvas) error {
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: picture}).WriteTo(&out); err != nil {
		return err
	}
	return durable.WriteFile(durable.OS{}, path, out.Bytes())
}

// ReplaceSection replaces the text of a section of a page, which is between two comment lines with its name.
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
