// Package allocated counts the bytes that functions allocate, for tests with damaged input.
package allocated

import (
	"runtime"
	"testing"
)

// tries is how often a function is called to stay within its limit.
const tries = 10

// Within fails the test unless one of a few calls of f allocates at most limit bytes. One call alone
// can exceed the limit by chance: other goroutines count too, and pools lose their content, under
// the race detector at random. What f always allocates shows in every call.
func Within(t testing.TB, limit uint64, f func()) {
	t.Helper()
	least := By(f)
	for i := 1; i < tries && least > limit; i++ {
		least = min(least, By(f))
	}
	if least > limit {
		t.Errorf("%d bytes were allocated, %d are allowed", least, limit)
	}
}

// By returns how many bytes are allocated while f runs.
func By(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
