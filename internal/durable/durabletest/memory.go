// Package durabletest has file systems for tests of [durable.FS]: at a power cut [Memory] loses what was not synced,
// [Hooked] calls a function before every change, and [Faulty] fails at a chosen operation.
package durabletest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// A Memory is a file system in memory. Like a careless disk, it keeps only the content up to the
// last Sync of a file, and the entries up to the last SyncDir of a folder.
type Memory struct {
	mu          sync.Mutex // guards everything, including the content of files
	names, disk map[string]*memoryFile
	folders     map[string]bool // always durable
	temps       int
}

type memoryFile struct {
	content, disk []byte
	lock          *memoryHandle // holder of the lock; nil if it is free
}

var _ durable.FS = (*Memory)(nil)

// NewMemory returns an empty file system.
func NewMemory() *Memory {
	return &Memory{names: map[string]*memoryFile{}, disk: map[string]*memoryFile{}, folders: map[string]bool{".": true, "/": true}}
}

// PowerCut returns the file system after a power cut: only what was synced.
func (m *Memory) PowerCut() *Memory {
	left := m.Killed()
	left.names = maps.Clone(left.disk)
	for _, f := range left.names {
		f.content = bytes.Clone(f.disk)
	}
	return left
}

// Killed returns the file system after a kill of the process: everything written, and no locks.
func (m *Memory) Killed() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := NewMemory()
	left.temps, left.folders = m.temps, maps.Clone(m.folders)
	same := map[*memoryFile]*memoryFile{}
	for _, of := range []struct{ from, to map[string]*memoryFile }{{m.names, left.names}, {m.disk, left.disk}} {
		for name, f := range of.from {
			if same[f] == nil {
				same[f] = &memoryFile{content: bytes.Clone(f.content), disk: bytes.Clone(f.disk)}
			}
			of.to[name] = same[f]
		}
	}
	return left
}

// Put creates a durable file and its folders. It does not count as an operation.
func (m *Memory) Put(name string, content []byte) {
	_ = m.MkdirAll(filepath.Dir(name)) // in tests no file has the name of the folder
	m.mu.Lock()
	defer m.mu.Unlock()
	f := &memoryFile{content: bytes.Clone(content), disk: bytes.Clone(content)}
	m.names[name], m.disk[name] = f, f
}

// Content returns the content of a file, or nil if it does not exist.
func (m *Memory) Content(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.names[name]; f != nil {
		return append([]byte{}, f.content...)
	}
	return nil
}

// Visible returns the content of files without a leading dot, by base name.
func (m *Memory) Visible() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[string]string{}
	for name, f := range m.names {
		if base := filepath.Base(name); !strings.HasPrefix(base, ".") {
			seen[base] = string(f.content)
		}
	}
	return seen
}

// Unpublished returns the base names of the temporary files.
func (m *Memory) Unpublished() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var left []string
	for name := range m.names {
		if base := filepath.Base(name); strings.HasSuffix(base, durable.TempSuffix) {
			left = append(left, base)
		}
	}
	slices.Sort(left)
	return left
}

// MkdirAll makes folders, which are durable at once.
func (m *Memory) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at := filepath.Clean(dir); !m.folders[at]; at = filepath.Dir(at) {
		if m.names[at] != nil {
			return &fs.PathError{Op: "mkdir", Path: at, Err: fs.ErrExist}
		}
	}
	for at := filepath.Clean(dir); !m.folders[at]; at = filepath.Dir(at) {
		m.folders[at] = true
	}
	return nil
}

// CreateTemp creates a hidden file and takes its lock.
func (m *Memory) CreateTemp(dir string) (durable.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.temps++
	random := strings.Map(func(c rune) rune { return 'A' + c - '0' }, fmt.Sprintf("%026d", m.temps))
	f, err := m.open(filepath.Join(dir, durable.TempPrefix+random+durable.TempSuffix))
	if err != nil {
		return nil, err
	}
	f.file.lock = f
	return f, nil
}

// open opens a file, and creates it if it is absent.
func (m *Memory) open(name string) (*memoryHandle, error) {
	if !m.folders[filepath.Dir(name)] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if m.folders[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if m.names[name] == nil {
		m.names[name] = &memoryFile{}
	}
	return &memoryHandle{of: m, name: name, file: m.names[name]}, nil
}

func (m *Memory) existing(op, name string) (*memoryFile, error) {
	if f := m.names[name]; f != nil {
		return f, nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Open opens a file for reading. It does not show later writes.
func (m *Memory) Open(name string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.existing("open", name)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(bytes.Clone(f.content))), nil
}

// Rename renames oldName to newName, which it replaces.
func (m *Memory) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.existing("rename", oldName)
	if err != nil {
		return err
	}
	if !m.folders[filepath.Dir(newName)] {
		return &fs.PathError{Op: "rename", Path: newName, Err: fs.ErrNotExist}
	}
	delete(m.names, oldName)
	m.names[newName] = f
	return nil
}

// Remove removes one file.
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.existing("remove", name)
	delete(m.names, name)
	return err
}

// SyncDir makes the entries of dir durable.
func (m *Memory) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if dir = filepath.Clean(dir); !m.folders[dir] {
		return &fs.PathError{Op: "sync", Path: dir, Err: fs.ErrNotExist}
	}
	maps.DeleteFunc(m.disk, func(name string, _ *memoryFile) bool { return filepath.Dir(name) == dir })
	for name, f := range m.names {
		if filepath.Dir(name) == dir {
			m.disk[name] = f
		}
	}
	return nil
}

// List returns the base names of files and folders in dir.
func (m *Memory) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if dir = filepath.Clean(dir); !m.folders[dir] {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	var names []string
	for name := range m.names {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	for name := range m.folders {
		if filepath.Dir(name) == dir && name != dir {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Lock takes the lock of a file, and creates the file if it is absent.
func (m *Memory) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.open(name)
	if err != nil {
		return nil, err
	}
	if f.file.lock != nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: durable.ErrLocked}
	}
	f.file.lock = f
	return f, nil
}

type memoryHandle struct {
	of   *Memory
	name string
	file *memoryFile
}

func (h *memoryHandle) Name() string { return h.name }

func (h *memoryHandle) Write(b []byte) (int, error) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.file.content = append(h.file.content, b...)
	return len(b), nil
}

func (h *memoryHandle) Sync() error {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.file.disk = bytes.Clone(h.file.content)
	return nil
}

func (h *memoryHandle) Close() error {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if h.file.lock == h {
		h.file.lock = nil
	}
	return nil
}
