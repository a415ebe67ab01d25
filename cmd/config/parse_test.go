package config

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A signal ends a command that reads a job file.
func TestReadingOfJobIsInterrupted(t *testing.T) {
	var keys strings.Builder
	for i := range maxJobKeys {
		fmt.Fprintf(&keys, "c%d: 1\n", i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began, others := time.Now(), runtime.NumGoroutine()
	_, _, err := parseUntil[JobFile](ctx, kindOf(reflect.TypeFor[JobFile]()), "job.yaml", []byte(keys.String()), noVariables)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want to be interrupted", err)
	}
	// What was left behind ends by itself; other tests measure memory.
	for runtime.NumGoroutine() > others && time.Since(began) < time.Minute {
		time.Sleep(10 * time.Millisecond)
	}
}
