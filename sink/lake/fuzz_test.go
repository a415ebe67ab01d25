package lake_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// Any bytes are a damaged checkpoint or the file that saving its state writes.
// What a header claims is not allocated.
func FuzzCheckpointFile(f *testing.F) {
	checkpoint := opened(f, f.TempDir()).Checkpoint(job.Digest{})
	path, _ := checkpoint.Where()
	for _, state := range []string{"", "a", "the state of a training"} {
		fatal.If(f, checkpoint.Save(f.Context(), []byte(state)))
		content, err := os.ReadFile(path)
		fatal.If(f, err)
		f.Add(content)
		f.Add(content[:len(content)/2])
		f.Add(append(content, 0))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		fatal.If(t, os.WriteFile(path, content, 0o600))
		var state []byte
		var err error
		allocated.Within(t, 8*uint64(len(content))+1<<16, func() { state, err = checkpoint.Load(t.Context()) })
		if err != nil {
			if !errors.Is(err, lake.ErrDamagedCheckpoint) {
				t.Errorf("%v is no ErrDamagedCheckpoint", err)
			}
			return
		}
		fatal.If(t, checkpoint.Save(t.Context(), state))
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, content) {
			t.Errorf("saved again it is another file: %v", err)
		}
	})
}
