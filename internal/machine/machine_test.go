package machine

import (
	"path/filepath"
	"runtime"
	"testing"
)

// The machine says what it has, where that is known.
func TestMachine(t *testing.T) {
	folder := t.TempDir()
	free, known := Room(folder)
	if known && free < 0 || runtime.GOOS == "linux" && !known {
		t.Errorf("%d bytes are free in %s: %t", free, folder, known)
	}
	if memory := Memory(); memory < 0 || runtime.GOOS == "linux" && memory < 64<<20 {
		t.Errorf("%d bytes of memory", memory)
	}
	if _, known := Room(filepath.Join(folder, "none")); known {
		t.Error("a folder that is not there has room")
	}
}
