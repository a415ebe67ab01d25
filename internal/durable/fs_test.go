package durable_test

import (
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
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
		t.Run(name, func(t *testing.T) { durabletest.TestFS(t, fresh) })
	}
}
