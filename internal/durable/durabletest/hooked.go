package durabletest

import "github.com/pacsgp/pacsgp/internal/durable"

// Kinds of operations that change a file system.
const (
	Create  = "create"
	Write   = "write"
	Sync    = "sync"
	Rename  = "rename"
	Remove  = "remove"
	SyncDir = "sync-dir"
)

// An Operation is a change of a file system.
type Operation struct {
	Kind string
	Name string // path; the new one for a rename, the folder for a creation
	Half func() // writes half of the bytes; nil if it is not a write
}

// A Hooked file system calls Hook for every operation except those on folders and locks. Hook calls
// effect to run the operation, and returns its error.
type Hooked struct {
	durable.FS
	Hook func(op Operation, effect func() error) error
}

// CreateTemp creates a file whose operations call Hook too.
func (h Hooked) CreateTemp(dir string) (f durable.File, err error) {
	err = h.Hook(Operation{Kind: Create, Name: dir}, func() error { f, err = h.FS.CreateTemp(dir); return err })
	if err != nil {
		if f != nil {
			_ = f.Close() // the error of the hook is the one to report
		}
		return nil, err
	}
	return hookedFile{f, h}, nil
}

// Rename renames oldName to newName, which it replaces.
func (h Hooked) Rename(oldName, newName string) error {
	return h.Hook(Operation{Kind: Rename, Name: newName}, func() error { return h.FS.Rename(oldName, newName) })
}

// Remove removes one file.
func (h Hooked) Remove(name string) error {
	return h.Hook(Operation{Kind: Remove, Name: name}, func() error { return h.FS.Remove(name) })
}

// SyncDir makes the entries of dir durable.
func (h Hooked) SyncDir(dir string) error {
	return h.Hook(Operation{Kind: SyncDir, Name: dir}, func() error { return h.FS.SyncDir(dir) })
}

type hookedFile struct {
	durable.File
	of Hooked
}

func (f hookedFile) Write(b []byte) (n int, err error) {
	half := func() { n, _ = f.File.Write(b[:len(b)/2]) }
	err = f.of.Hook(Operation{Write, f.Name(), half}, func() error { n, err = f.File.Write(b); return err })
	return n, err
}

func (f hookedFile) Sync() error {
	return f.of.Hook(Operation{Kind: Sync, Name: f.Name()}, f.File.Sync)
}
