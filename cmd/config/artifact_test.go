package config

import "testing"

// A file that does not fit is refused unread.
func TestAffordable(t *testing.T) {
	for _, c := range []struct {
		size, allowed int64
		ok            bool
	}{{1 << 30, 0, true}, {1 << 20, 2 << 20, true}, {1<<20 + 1, 2 << 20, false}} {
		if err := affordable(c.size, c.allowed); (err == nil) != c.ok {
			t.Errorf("%d bytes of %d: %v", c.size, c.allowed, err)
		}
	}
}
