//go:build !linux

package machine

// Memory is 0: what the system allows is not known.
func Memory() int64 { return 0 }

// Room is not known.
func Room(string) (int64, bool) { return 0, false }
