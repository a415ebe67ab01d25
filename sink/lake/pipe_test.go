//go:build unix

package lake_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pacsgp/pacsgp/sink/lake"
)

// A pipe in the place of the log keeps nobody waiting.
func TestLogThatIsAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	l := lake.NewAttemptLog(path, nil)
	_, read := l.Attempts(t.Context())
	_, _, record := l.Record(t.Context(), newAttempt)
	for _, err := range []error{read, record} {
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a pipe for a log: %v", err)
		}
	}
}
