// Demo-kafka shows pacsgp over topics: it starts a broker in this process, builds the
// program, and runs the commands of a user against that broker. Rows are produced, a model
// is trained, certified and published to topics, pulled from them, and verified by
// replaying the rows. Run it from the tree: go run ./cmd/demo-kafka
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

// job is the job file of the demo; the address of the broker is filled in.
const job = `# Written by demo-kafka, whose broker ends with it.
kafka: {brokers: [%q]}
source: {kafka: {topic: demo-rows}}
features: [x1, x2, x3]
target: y
loss: {epsilon: 0.5}
delta: 0.01
inducing: 400
output: artifact
publish:
  kafka: {name: demo}
`

func main() {
	output := flag.String("o", filepath.Join("out", "demo-kafka"), "directory for the program, its job and the artifact")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // ends the commands that it has started
	defer stop()
	if err := demo(ctx, *output, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "demo-kafka:", err)
		status := 1
		if ended, ok := errors.AsType[*exec.ExitError](err); ok {
			status = ended.ExitCode()
		}
		os.Exit(status)
	}
}

// demo runs the commands. It ends with the first that fails, and returns its error: an
// [exec.ExitError] has the exit status of pacsgp.
func demo(ctx context.Context, output string, stdout, stderr io.Writer) error {
	if err := os.MkdirAll(output, 0o755); err != nil {
		return err
	}
	program := filepath.Join(output, "pacsgp")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/pacsgp/pacsgp/cmd/pacsgp")
	build.Stderr = stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build, in the tree of pacsgp: %w", err)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return err
	}
	defer cluster.Close()
	address := cluster.ListenAddrs()[0]
	_, _ = fmt.Fprintf(stdout, "A broker in this process listens on %s.\n", address)
	run := func(args ...string) (printed string, err error) {
		_, _ = fmt.Fprintf(stdout, "\n$ pacsgp %s\n", strings.Join(args, " "))
		var text bytes.Buffer
		c := exec.CommandContext(ctx, program, args...)
		c.Stdout, c.Stderr = io.MultiWriter(stdout, &text), stderr
		if err := c.Run(); err != nil {
			return "", fmt.Errorf("pacsgp %s: %w", args[0], err)
		}
		return text.String(), nil
	}
	config := filepath.Join(output, "job.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, job, address), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"demo", "--produce", address}, {"topics", "-c", config}, {"train", "-c", config}} {
		if _, err := run(args...); err != nil {
			return err
		}
	}
	files, err := run("pull", "demo", "--kafka", config, "-o", filepath.Join(output, "pulled"))
	if err != nil {
		return err
	}
	pulled := strings.Split(files, "\n") // the model, the certificate, the same as a row
	_, err = run("verify", pulled[0], pulled[1], "--source", config, "--retrain")
	return err
}
