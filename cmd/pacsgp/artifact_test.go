//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// limitedTo runs the command in a process of its own that may have so many MiB of
// address space and that gets one SIGTERM after ten seconds.
func limitedTo(t *testing.T, mebibytes int, args ...string) answer {
	t.Helper()
	text, err := json.Marshal(order{Args: args})
	fatal.If(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", fmt.Sprintf("ulimit -v %d && exec \"$0\"", mebibytes<<10), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("pacsgp %q: %v: %.500s", args, err, &stderr)
	}
	return answer{stdout: stdout.String(), message: stderr.String(), status: cmd.ProcessState.ExitCode()}
}

// files that anybody can name and that are too long to read.
func endless(t *testing.T, model []byte) map[string]string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"a device": "/dev/zero", "a pipe": filepath.Join(dir, "pipe"), "a folder": dir,
		"six gigabytes": filepath.Join(dir, "sparse"), "six gigabytes in a model": filepath.Join(dir, "model"),
	}
	if err := unix.Mkfifo(files["a pipe"], 0o600); err != nil {
		t.Skip(err)
	}
	footer := len(model) - 8 - int(binary.LittleEndian.Uint32(model[len(model)-8:]))
	for name, content := range map[string][2][]byte{
		"six gigabytes":            {},
		"six gigabytes in a model": {model[:footer], model[footer:]},
	} {
		f, err := os.Create(files[name])
		fatal.If(t, err)
		_, head := f.Write(content[0])
		_, tail := f.WriteAt(content[1], 6<<30)
		if err := errors.Join(head, tail, f.Truncate(6<<30+int64(len(content[1]))), f.Close()); err != nil {
			t.Skip(err)
		}
	}
	return files
}

// What is no artifact is refused at once and in little memory, whatever stands
// under its name.
func TestEndlessFiles(t *testing.T) {
	t.Parallel()
	a := trained(t)
	output := filepath.Join(t.TempDir(), "predictions.parquet")
	for name, path := range endless(t, readFile(t, a.model)) {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{
				{"inspect", path},
				{"verify", path, a.certificate},
				{"verify", a.model, path},
				{"predict", path, a.certificate, a.lake, "-o", output},
				{"predict", a.model, path, a.lake, "-o", output},
				{"train", "-c", path},
				{"plan", "-c", path},
			} {
				want := exitFailure
				if args[1] == "-c" {
					want = exitConfig
				}
				got := limitedTo(t, 2560, args...)
				if got.status != want || !strings.Contains(got.message, path) || len(got.message) > 1000 {
					t.Errorf("%q: status %d: %.300s", args, got.status, got.message)
				}
			}
		})
	}
}
