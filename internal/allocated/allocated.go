// Package allocated counts what functions allocate, for tests that hand them damaged bytes.
package allocated

import (
	"runtime"
	"testing"
)

// tries is how often a function is called until it stays within its bound.
const tries = 10

// Within reports an error unless one of a few calls of f allocates at most so many bytes. Other
// goroutines are counted too, and pools lose what they hold, under the race detector at random:
// a call may allocate more than the same call an instant later. What f always allocates is
// found by every call.
func Within(t testing.TB, most uint64, f func()) {
	t.Helper()
	least := By(f)
	for i := 1; i < tries && least > most; i++ {
		least = min(least, By(f))
	}
	if least > most {
		t.Errorf("%d bytes were allocated, %d are allowed", least, most)
	}
}

// By is how many bytes are allocated while f runs.
func By(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
