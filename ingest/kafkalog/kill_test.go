package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
)

// killVariable makes this test binary spool a window and die at a step towards a durable
// file: "<broker>\n<folder>\n<step>\n<before|after>".
const killVariable = "PACSGP_SPOOL_KILL"

// apache is the broker that the tests against a real one share.
var apache brokertest.Shared

func TestMain(m *testing.M) {
	if order := os.Getenv(memoryVariable); order != "" {
		spoolAndTell(order)
	}
	order := os.Getenv(killVariable)
	if order == "" {
		os.Exit(apache.Main(m))
	}
	part := strings.Split(order, "\n")
	at, err := strconv.Atoi(part[2])
	var steps atomic.Int32
	if err == nil {
		err = spoolTo(part[0], part[1], func(effect func() error) error {
			here := int(steps.Add(1)) == at
			if here && part[3] == "before" {
				die()
			}
			err := effect()
			if here {
				die()
			}
			return err
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, steps.Load())
	os.Exit(0)
}

// die is kill -9: no deferred function runs, no buffer is flushed.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

func spoolTo(address, folder string, step func(func() error) error) error {
	client, err := broker.NewClient(broker.Config{Brokers: []string{address}})
	if err != nil {
		return err
	}
	cfg := configIn(client, folder)
	cfg.step = step
	if _, err := Spool(context.Background(), cfg); err != nil {
		return err
	}
	return client.Close()
}

// TestKilledAtEveryStep: a process that spools is killed before and after each write,
// sync, rename and sync of the folder; run again, it leaves the same files.
func TestKilledAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("fifty processes are killed")
	}
	c := newCluster(t, 2)
	p := c.producer(t)
	for i := range 330 {
		produce(t, p, row(int32(i%2), float64(i), 0))
	}
	address := c.ListenAddrs()[0]
	child := func(folder string, at int, how string) (string, error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), killVariable+"="+strings.Join([]string{address, folder, strconv.Itoa(at), how}, "\n"))
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	whole := filepath.Join(t.TempDir(), "spool")
	out, err := child(whole, 0, "never")
	steps, bad := strconv.Atoi(out)
	if err != nil || bad != nil || steps < 20 {
		t.Fatalf("the child says %q, %v, want its number of steps", out, err)
	}
	want := filesOf(t, whole)
	for at := 1; at <= steps; at++ {
		for _, how := range []string{"before", "after"} {
			folder := filepath.Join(t.TempDir(), "spool")
			out, err := child(folder, at, how)
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != -1 {
				t.Fatalf("step %d, %s: the child was to die and says %v: %s", at, how, err, out)
			}
			if err := spoolTo(address, folder, nil); err != nil {
				t.Fatalf("step %d, %s: run again: %v", at, how, err)
			}
			if diff := cmp.Diff(want, filesOf(t, folder)); diff != "" {
				t.Errorf("step %d, %s: other files after a run again (-want +got):\n%.500s", at, how, diff)
			}
		}
	}
}

// filesOf are the files of a spool by their names.
func filesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}
