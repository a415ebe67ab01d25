package machine

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Memory is the most memory, in bytes, that this process can have: that of the machine, with
// its swap, within the limits of its control groups and its address space. 0: not known.
func Memory() int64 {
	least := int64(math.MaxInt64)
	allow := func(bytes int64) {
		if bytes > 0 {
			least = min(least, bytes)
		}
	}
	allow(installedMemory())
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		if parts[1] != "" { // of version 1: each controller has a tree of its own
			if parts[1] != "memory" {
				continue
			}
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) { // a group is within those above it
			allow(numberIn(filepath.Join(root, at, file)))
			if at == "/" {
				break
			}
		}
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur < math.MaxInt64 {
		allow(int64(limit.Cur))
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

func installedMemory() (bytes int64) {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "MemTotal" && name != "SwapTotal" {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err == nil {
			bytes += kib << 10
		}
	}
	return bytes
}

// numberIn is the number that a file holds, or 0: "max" is none.
func numberIn(path string) int64 {
	text, err := os.ReadFile(path) //nolint:gosec // of the system
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Room is what there is room for in a folder; false: not known.
func Room(folder string) (int64, bool) {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil || s.Bavail > math.MaxInt64/uint64(max(1, s.Bsize)) {
		return 0, false
	}
	return int64(s.Bavail) * s.Bsize, true //nolint:gosec // checked above
}
