package kafkalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// apache is the broker that the tests against a real one share.
var apache brokertest.Shared

func TestMain(m *testing.M) {
	if order := os.Getenv(memoryVariable); order != "" {
		spoolAndTell(order)
	}
	os.Exit(apache.Main(m))
}

// spoolTo spools the topic of the cluster in one process, which has these files.
func spoolTo(ctx context.Context, address, folder string, files durable.FS) error {
	client, err := broker.NewClient(broker.Config{Brokers: []string{address}})
	if err != nil {
		return err
	}
	cfg := configIn(client, folder)
	cfg.files = files
	_, err = Spool(ctx, cfg)
	return errors.Join(err, client.Close())
}

// TestKilledAtEveryStep: a process that spools is killed before, in and after each write,
// sync, rename and sync of the folder; run again, it leaves the same files.
func TestKilledAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("every operation fails in three ways")
	}
	c := newCluster(t, 2)
	fill(t, c.producer(t), 330, 2)
	address := c.ListenAddrs()[0]
	whole := filepath.Join(t.TempDir(), "spool")
	counted := durabletest.NewFaulty(durable.OS{}, durabletest.Fault{})
	if err := spoolTo(t.Context(), address, whole, counted); err != nil || counted.Operations() < 20 {
		t.Fatalf("spooling has %d operations: %v", counted.Operations(), err)
	}
	want := filesOf(t, whole)
	for at := 1; at <= counted.Operations(); at++ {
		for _, moment := range durabletest.Moments {
			folder := filepath.Join(t.TempDir(), "spool")
			killed := durabletest.NewFaulty(durable.OS{}, durabletest.Fault{At: at, Moment: moment, Err: durabletest.ErrKilled})
			if err := spoolTo(t.Context(), address, folder, killed); !errors.Is(err, durabletest.ErrKilled) {
				t.Fatalf("%s operation %d: it was to die and says %v", moment, at, err)
			}
			if err := spoolTo(t.Context(), address, folder, nil); err != nil {
				t.Fatalf("%s operation %d: run again: %v", moment, at, err)
			}
			if diff := cmp.Diff(want, filesOf(t, folder)); diff != "" {
				t.Errorf("%s operation %d: other files after a run again (-want +got):\n%.500s", moment, at, diff)
			}
		}
	}
}

// TestUnsyncableFolder: a folder whose names cannot be made durable ends the spooling,
// unless its file system has no such thing.
func TestUnsyncableFolder(t *testing.T) {
	c := newCluster(t, 1)
	produce(t, c.producer(t), row(0, 1, 1))
	for failure, want := range map[error]bool{syscall.EINVAL: true, syscall.EIO: false} {
		files := durabletest.Hooked{FS: durable.OS{}, Hook: func(op durabletest.Operation, effect func() error) error {
			if op.Kind == durabletest.SyncDir {
				return failure
			}
			return effect()
		}}
		err := spoolTo(t.Context(), c.ListenAddrs()[0], filepath.Join(t.TempDir(), "spool"), files)
		if (err == nil) != want || !want && !errors.Is(err, failure) {
			t.Errorf("sync of the folder says %v: the spool says %v", failure, err)
		}
	}
}

// filesOf are the files of a spool by their names.
func filesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	fatal.If(t, err)
	files := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		fatal.If(t, err)
		files[e.Name()] = string(text)
	}
	return files
}
