package yamlfile

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A signal ends a command that reads a job file.
func TestReadingOfJobIsInterrupted(t *testing.T) {
	var keys strings.Builder
	for i := range maxKeys {
		fmt.Fprintf(&keys, "c%d: 1\n", i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began, others := time.Now(), runtime.NumGoroutine()
	_, _, err := Parse[struct{}](ctx, Kind{}, "job.yaml", []byte(keys.String()), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want to be interrupted", err)
	}
	// What was left behind ends by itself; other tests measure memory.
	for runtime.NumGoroutine() > others && time.Since(began) < time.Minute {
		time.Sleep(10 * time.Millisecond)
	}
}
