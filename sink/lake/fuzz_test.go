package lake_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// logOf returns a log of attempts with the content, and its file system.
func logOf(content []byte) (*lake.AttemptLog, *durabletest.Memory) {
	m := durabletest.NewMemory()
	path := filepath.Join("out", "attempts.jsonl")
	if content != nil {
		m.Put(path, content)
	}
	return lake.NewAttemptLog(path, m), m
}

// recordedFile is the file that recording the attempts one by one gives.
func recordedFile(t testing.TB, attempts []pipeline.Attempt) []byte {
	t.Helper()
	log, m := logOf(nil)
	for i, a := range attempts {
		if _, n, err := log.Record(t.Context(), a); err != nil || n != i+1 {
			t.Fatalf("Record = %d, %v, want %d", n, err, i+1)
		}
	}
	return m.Content(log.Path())
}

// Any bytes are a damaged log or the very lines that recording their attempts
// writes, then perhaps the beginning of one more; and what is read can go on.
func FuzzAttemptLog(f *testing.F) {
	var attempts []pipeline.Attempt
	for i := range byte(4) {
		f.Add(recordedFile(f, attempts))
		attempts = append(attempts, pipeline.Attempt{Targets: pipeline.Digest{i / 2}, Sample: pipeline.Digest{i}, Configuration: pipeline.Digest{31: i}})
	}
	whole := recordedFile(f, attempts)
	f.Add(whole[:len(whole)-40])
	f.Add(append(bytes.Clone(whole[:len(whole)-40]), make([]byte, 40)...))
	f.Add(append(bytes.Clone(whole[:len(whole)-1]), ' ', '\n'))
	f.Add(append(bytes.Clone(whole), whole[:len(whole)/4]...))
	f.Add([]byte("{\"configuration\":\"00\",\"sample\":\"11\"}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		log, m := logOf(content)
		attempts, err := log.Attempts(t.Context())
		if err != nil {
			if !errors.Is(err, lake.ErrDamagedAttempts) {
				t.Fatalf("%v is no ErrDamagedAttempts", err)
			}
			if _, _, err := log.Record(t.Context(), newAttempt); err == nil || !bytes.Equal(m.Content(log.Path()), content) {
				t.Errorf("an attempt is recorded in a damaged log: %v", err)
			}
			return
		}
		lines := recordedFile(t, attempts)
		rest, ok := bytes.CutPrefix(content, lines)
		if !ok || bytes.IndexByte(rest, '\n') >= 0 {
			t.Fatalf("the log is read as\n%s", lines)
		}
		_, n, err := log.Record(t.Context(), newAttempt)
		fatal.If(t, err)
		after, err := log.Attempts(t.Context())
		if err != nil || len(after) < n || after[n-1] != newAttempt || !bytes.HasPrefix(m.Content(log.Path()), lines) {
			t.Errorf("after one more attempt: %d, %d attempts, %v", n, len(after), err)
		}
	})
}

// Any bytes are a damaged checkpoint or the file that saving its state writes.
// What a header claims is not allocated.
func FuzzCheckpointFile(f *testing.F) {
	dir := f.TempDir()
	d, err := lake.Open(dir, nil)
	fatal.If(f, err)
	f.Cleanup(func() {
		fatal.If(f, d.Close())
	})
	checkpoint := d.Checkpoint("00")
	for _, state := range []string{"", "a", "the state of a training"} {
		fatal.If(f, checkpoint.Save(f.Context(), []byte(state)))
		content, err := os.ReadFile(checkpoint.Path())
		fatal.If(f, err)
		f.Add(content)
		f.Add(content[:len(content)/2])
		f.Add(append(content, 0))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		fatal.If(t, os.WriteFile(checkpoint.Path(), content, 0o600))
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
		if again, err := os.ReadFile(checkpoint.Path()); err != nil || !bytes.Equal(again, content) {
			t.Errorf("saved again it is another file: %v", err)
		}
	})
}
