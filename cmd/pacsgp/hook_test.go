package main

import (
	"github.com/pacsgp/pacsgp/internal/durable"
)

// A hookFS is the real file system under a hook that decides what becomes of
// every operation that changes something. It syncs nothing: a process that is
// killed loses nothing that was written, so that only the order of operations
// matters to these tests, and a disk's patience does not. (What a power cut
// loses is tested in sink/lake.)
type hookFS struct {
	durable.OS
	hook func(op operation, effect func() error) error
}

var _ durable.FS = hookFS{}

// Kinds of operations.
const (
	opCreate   = "create"
	opAppend   = "append"
	opTruncate = "truncate"
	opWrite    = "write"
	opSync     = "sync"
	opRename   = "rename"
	opRemove   = "remove"
	opSyncDir  = "sync-dir"
)

// An operation changes the file system.
type operation struct {
	kind string
	name string // path; of a rename, the new one
	half func() // of a write: writes half
}

func (h hookFS) CreateTemp(dir string) (f durable.File, err error) {
	err = h.hook(operation{kind: opCreate, name: dir}, func() error { f, err = h.OS.CreateTemp(dir); return err })
	if err != nil {
		return nil, err
	}
	return hookFile{f, h}, nil
}

func (h hookFS) Append(name string) (f durable.File, err error) {
	err = h.hook(operation{kind: opAppend, name: name}, func() error { f, err = h.OS.Append(name); return err })
	if err != nil {
		return nil, err
	}
	return hookFile{f, h}, nil
}

func (h hookFS) Truncate(name string, size int64) error {
	return h.hook(operation{kind: opTruncate, name: name}, func() error { return h.OS.Truncate(name, size) })
}

func (h hookFS) Rename(oldName, newName string) error {
	return h.hook(operation{kind: opRename, name: newName}, func() error { return h.OS.Rename(oldName, newName) })
}

func (h hookFS) Remove(name string) error {
	return h.hook(operation{kind: opRemove, name: name}, func() error { return h.OS.Remove(name) })
}

func (h hookFS) SyncDir(dir string) error {
	return h.hook(operation{kind: opSyncDir, name: dir}, func() error { return nil })
}

type hookFile struct {
	durable.File
	fs hookFS
}

func (f hookFile) Write(b []byte) (n int, err error) {
	half := func() { n, _ = f.File.Write(b[:len(b)/2]) }
	err = f.fs.hook(operation{opWrite, f.Name(), half}, func() error { n, err = f.File.Write(b); return err })
	return n, err
}

func (f hookFile) Sync() error {
	return f.fs.hook(operation{kind: opSync, name: f.Name()}, func() error { return nil })
}

// plain lets everything happen.
func plain() hookFS {
	return hookFS{hook: func(_ operation, effect func() error) error { return effect() }}
}
