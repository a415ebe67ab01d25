package lake_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/sink/lake"
)

func TestCheckpointDamageIsNoticed(t *testing.T) {
	dir := t.TempDir()
	d, err := lake.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	checkpoint := d.Checkpoint(newAttempt.Configuration.String())
	if state, err := checkpoint.Load(t.Context()); err != nil || state != nil {
		t.Fatalf("Load from an empty directory = %q, %v", state, err)
	}
	if err := checkpoint.Save(t.Context(), []byte("the state of a training")); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(checkpoint.Path())
	if err != nil {
		t.Fatal(err)
	}
	damaged := [][]byte{good[:0], good[:10], good[:len(good)-1], append(bytes.Clone(good), 0)}
	for bit := range 8 * len(good) {
		b := bytes.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		damaged = append(damaged, b)
	}
	for i, b := range damaged {
		if err := os.WriteFile(checkpoint.Path(), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if state, err := checkpoint.Load(t.Context()); !errors.Is(err, lake.ErrDamagedCheckpoint) {
			t.Fatalf("damage %d: Load() = %q, %v, want ErrDamagedCheckpoint", i, state, err)
		}
	}
}

// A job leaves the checkpoint of another one alone, and can name it.
func TestJobsHaveCheckpointsOfTheirOwn(t *testing.T) {
	d, err := lake.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx := t.Context()
	first, second := d.Checkpoint("11"), d.Checkpoint("22")
	if err := errors.Join(first.Save(ctx, []byte("one")), second.Save(ctx, []byte("two"))); err != nil {
		t.Fatal(err)
	}
	if state, err := first.Load(ctx); err != nil || string(state) != "one" {
		t.Errorf("the first job's checkpoint is %q, %v", state, err)
	}
	if others, err := first.Others(); err != nil || !slices.Equal(others, []lake.Leftover{{Path: second.Path()}}) {
		t.Errorf("Others() = %v, %v, want %s", others, err, second.Path())
	}
	// What is no checkpoint is not taken for another job's.
	if err := os.WriteFile(second.Path()+"x", []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if others, err := first.Others(); err != nil || len(others) != 2 || others[0].Fault != nil || others[1].Fault == nil {
		t.Errorf("beside garbage Others() = %v, %v", others, err)
	}
	if err := os.Remove(second.Path() + "x"); err != nil {
		t.Fatal(err)
	}
	if err := first.Clear(ctx); err != nil {
		t.Fatal(err)
	}
	if state, err := second.Load(ctx); err != nil || string(state) != "two" {
		t.Errorf("after the first job has ended the second one's checkpoint is %q, %v", state, err)
	}
	if others, err := second.Others(); err != nil || others != nil {
		t.Errorf("Others() = %v, %v, want none", others, err)
	}
}
