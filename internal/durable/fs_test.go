package durable_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// The file system of the tests does what the real one does, also behind a hook.
func TestFileSystems(t *testing.T) {
	for name, fresh := range map[string]func(t *testing.T) (durable.FS, string){
		"machine": func(t *testing.T) (durable.FS, string) { return durable.OS{}, filepath.Join(t.TempDir(), "out") },
		"memory":  func(*testing.T) (durable.FS, string) { return durabletest.NewMemory(), "out" },
		"faulty": func(*testing.T) (durable.FS, string) {
			return durabletest.NewFaulty(durabletest.NewMemory(), durabletest.Fault{}), "out"
		},
	} {
		t.Run(name, func(t *testing.T) { testFS(t, fresh) })
	}
}

// A lock that is given back is free, though a process that is being started has its file still.
func TestLockIsGivenBackWithItsFileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	lock, err := durable.OS{}.Lock(path)
	fatal.If(t, err)
	also, err := unix.Dup(int(lock.(interface{ Fd() uintptr }).Fd()))
	fatal.If(t, err)
	defer unix.Close(also)
	fatal.If(t, lock.Close())
	again, err := durable.OS{}.Lock(path)
	fatal.If(t, err)
	fatal.If(t, again.Close())
}

// A sweep of another process at any moment takes no file that somebody is at work on, nor
// one that is about to have its name.
func TestSweepLeavesFilesThatArePublished(t *testing.T) {
	dir := t.TempDir()
	sweeping := durabletest.Hooked{FS: durable.OS{}, Hook: func(_ durabletest.Operation, effect func() error) error {
		fatal.If(t, durable.Sweep(durable.OS{}, dir))
		return effect()
	}}
	fatal.If(t, durable.WriteFile(sweeping, filepath.Join(dir, "file"), []byte("text")))
}
