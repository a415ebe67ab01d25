package pass_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// countByMap is the dumb way.
func countByMap(marks []uint64) (c job.Duplicates, later []int64) {
	seen := map[uint64]bool{}
	for i, m := range marks {
		if seen[m] {
			later = append(later, int64(i))
		}
		seen[m] = true
	}
	return job.Duplicates{Rows: int64(len(marks)), Distinct: int64(len(seen))}, later
}

// samples of marks: with few and with many duplicates, and with all in one group.
func markSamples(n int) map[string][]uint64 {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	few := make([]uint64, 40)
	for i := range few {
		few[i] = rng.Uint64()
	}
	out := map[string][]uint64{}
	for name, f := range map[string]func() uint64{
		"all different": rng.Uint64,
		"few rows":      func() uint64 { return few[rng.IntN(len(few))] },
		"all equal":     func() uint64 { return 7 },
		"one group":     func() uint64 { return uint64(rng.IntN(2000)) },
		"a pair now and then": func() uint64 {
			if rng.IntN(500) == 0 {
				return few[rng.IntN(len(few))]
			}
			return rng.Uint64()
		},
	} {
		for range n {
			out[name] = append(out[name], f())
		}
	}
	return out
}

// In memory or in sorted runs, with few or many workers: the same counts and the
// same later duplicates as the dumb way finds.
func TestDuplicatesAreCountedTheSameInMemoryAndInFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, n := range []int{0, 1, 2, 30, pass.LeastRecords, 3*pass.LeastRecords + 7, 50_000} {
		if raceDetector && n > 3*pass.LeastRecords {
			continue // takes minutes
		}
		for name, marks := range markSamples(n) {
			want, wantLater := countByMap(marks)
			for _, memory := range []int64{1, 1 << 18, 1 << 30} {
				for _, workers := range []int{1, 3} {
					got, later, err := pass.CountDuplicates(t.Context(), marks, job.Resources{Workers: workers, Memory: memory}, nil)
					if err != nil || got != want || !slices.Equal(later, wantLater) {
						t.Fatalf("%d marks, %s, %d bytes, %d workers: %+v and %d later duplicates, %v, want %+v and %d",
							n, name, memory, workers, got, len(later), err, want, len(wantLater))
					}
					if left := entries(t); left != "" {
						t.Fatalf("%s is left", left)
					}
				}
			}
		}
	}
}

// entries names what is in the folder for temporary files.
func entries(t *testing.T) string {
	t.Helper()
	list, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// A full file takes so many bytes and gives back what fault makes of them.
type fullFile struct {
	pass.Temporary
	room   int
	fault  func(b []byte)
	closed *bool
}

// Write writes what there is room for.
func (f *fullFile) Write(b []byte) (int, error) {
	if len(b) > f.room {
		n, _ := f.Temporary.Write(b[:f.room])
		f.room = 0
		return n, fmt.Errorf("write somewhere: %w", syscall.ENOSPC)
	}
	f.room -= len(b)
	return f.Temporary.Write(b)
}

// ReadAt reads.
func (f *fullFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.Temporary.ReadAt(b, at)
	if f.fault != nil {
		f.fault(b[:n])
	}
	return n, err
}

// Close closes.
func (f *fullFile) Close() error {
	*f.closed = true
	return f.Temporary.Close()
}

// A full disk, a missing folder, a file that was changed: an error with a remedy, and no file is
// left.
func TestDuplicatesThatCannotBeCounted(t *testing.T) {
	marks := markSamples(5 * pass.LeastRecords)["all different"]
	flip := func(b []byte) {
		if len(b) > 2000 {
			b[1015] ^= 0x80 // the highest byte of a record
		}
	}
	for name, c := range map[string]struct {
		room  int
		fault func([]byte)
		want  string
	}{
		"full at once":      {0, nil, "no space left"},
		"full later":        {2*16*pass.LeastRecords + 100, nil, "no space left"},
		"changed in a file": {1 << 30, flip, "have changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			closed := false
			create := func() (pass.Temporary, error) {
				f, err := pass.CreateTemporary()
				return &fullFile{f, c.room, c.fault, &closed}, err
			}
			_, _, err := pass.CountDuplicates(t.Context(), marks, job.Resources{Memory: 1}, create)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "hint: give more memory, or set TMPDIR") {
				t.Errorf("error %v, want one about %q with a hint", err, c.want)
			}
			if left := entries(t); left != "" || !closed {
				t.Errorf("left: %q; closed: %v", left, closed)
			}
		})
	}
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	_, _, err := pass.CountDuplicates(t.Context(), marks, job.Resources{Memory: 1}, nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// A count that is stopped ends.
func TestCountingDuplicatesCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Setenv("TMPDIR", t.TempDir())
	marks := markSamples(3 * pass.LeastRecords)["all different"]
	_, _, err := pass.CountDuplicates(ctx, marks, job.Resources{Memory: 1}, nil)
	if !errors.Is(err, context.Canceled) || entries(t) != "" {
		t.Errorf("error %v, left %q", err, entries(t))
	}
}
