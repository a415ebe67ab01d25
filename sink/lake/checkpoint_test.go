package lake_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink/lake"
)

func TestCheckpointDamageIsDetected(t *testing.T) {
	checkpoint := opened(t, t.TempDir()).Checkpoint(job.Digest{})
	path, _ := checkpoint.Where()
	if state, err := checkpoint.Load(t.Context()); err != nil || state != nil {
		t.Fatalf("Load from an empty directory = %q, %v", state, err)
	}
	fatal.If(t, checkpoint.Save(t.Context(), []byte("the state of a training")))
	good, err := os.ReadFile(path)
	fatal.If(t, err)
	damaged := [][]byte{good[:0], good[:10], good[:len(good)-1], append(bytes.Clone(good), 0)}
	for bit := range 8 * len(good) {
		b := bytes.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		damaged = append(damaged, b)
	}
	for i, b := range damaged {
		fatal.If(t, os.WriteFile(path, b, 0o644))
		if state, err := checkpoint.Load(t.Context()); !errors.Is(err, lake.ErrDamagedCheckpoint) {
			t.Fatalf("damage %d: Load() = %q, %v, want ErrDamagedCheckpoint", i, state, err)
		}
	}
}

// A job leaves the checkpoint of another one alone, and can name it.
func TestJobsHaveCheckpointsOfTheirOwn(t *testing.T) {
	d := lake.NewOutput(t.TempDir(), nil)
	release, err := d.Hold()
	fatal.If(t, err)
	defer release()
	ctx := t.Context()
	one, two := job.Digest{1}, job.Digest{2}
	first, second := d.Checkpoint(one), d.Checkpoint(two)
	location, _ := second.Where()
	fatal.If(t, errors.Join(first.Save(ctx, []byte("one")), second.Save(ctx, []byte("two"))))
	if state, err := first.Load(ctx); err != nil || string(state) != "one" {
		t.Errorf("the first job's checkpoint is %q, %v", state, err)
	}
	if said, err := d.Warnings([]job.Digest{one}); err != nil || len(said) != 1 || !strings.HasPrefix(said[0], location+" is kept for another job") {
		t.Errorf("Warnings() = %q, %v, want that of %s", said, err, location)
	}
	fatal.If(t, first.Clear(ctx))
	if state, err := second.Load(ctx); err != nil || string(state) != "two" {
		t.Errorf("after the first job has ended the second one's checkpoint is %q, %v", state, err)
	}
	if said, err := d.Warnings([]job.Digest{two}); err != nil || len(said) != 0 {
		t.Errorf("Warnings() = %q, %v, want none", said, err)
	}
}
