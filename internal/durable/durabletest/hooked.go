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

// An Operation changes a file system.
type Operation struct {
	Kind string
	Name string // path; of a rename the new one, of a creation the folder
	Half func() // of a write: writes half of the bytes; else nil
}

// A Hooked file system leaves every operation, but for folders and locks, to its hook, which
// calls effect to let it happen and returns its error.
type Hooked struct {
	durable.FS
	Hook func(op Operation, effect func() error) error
}

// CreateTemp makes a file whose operations are hooked too.
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

// Rename replaces newName by oldName.
func (h Hooked) Rename(oldName, newName string) error {
	return h.Hook(Operation{Kind: Rename, Name: newName}, func() error { return h.FS.Rename(oldName, newName) })
}

// Remove removes one file.
func (h Hooked) Remove(name string) error {
	return h.Hook(Operation{Kind: Remove, Name: name}, func() error { return h.FS.Remove(name) })
}

// SyncDir makes the names in dir durable.
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
