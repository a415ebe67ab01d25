package lake_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// errPowerCut stops a job at a chosen operation.
var errPowerCut = errors.New("power cut")

// A memFS forgets at a power cut what was not synced, as a disk may: content
// of files since their last Sync, names in a directory since its last
// SyncDir. It knows one directory.
type memFS struct {
	names, durable map[string]*memFile // by path
	operations     int                 // done so far
	failAt         int                 // the operation that fails; 0: none
	failure        error
	after          bool // fail after the operation has had its effect
	once           bool // only that operation fails; else all later ones too
	locked         map[string]bool
	temps          int
}

type memFile struct{ content, durable []byte }

var _ durable.FS = (*memFS)(nil)

func newMemFS() *memFS {
	return &memFS{names: map[string]*memFile{}, durable: map[string]*memFile{}, locked: map[string]bool{}}
}

// powerCut returns the file system as it is found after a restart.
func (m *memFS) powerCut() *memFS {
	restarted := newMemFS()
	for name, f := range m.durable {
		g := &memFile{content: bytes.Clone(f.durable), durable: bytes.Clone(f.durable)}
		restarted.names[name], restarted.durable[name] = g, g
	}
	return restarted
}

// step counts an operation and runs it, or fails in its place.
func (m *memFS) step(effect func()) error {
	m.operations++
	failing := m.failAt > 0 && (m.operations == m.failAt || m.operations > m.failAt && !m.once)
	if !failing || m.after && m.operations == m.failAt {
		effect()
	}
	if failing {
		return fmt.Errorf("operation %d: %w", m.operations, m.failure)
	}
	return nil
}

func (m *memFS) MkdirAll(string) error { return nil }

func (m *memFS) CreateTemp(dir string) (durable.File, error) {
	m.temps++
	random := strings.Map(func(c rune) rune { return 'A' + c - '0' }, fmt.Sprintf("%026d", m.temps))
	return m.open(filepath.Join(dir, durable.TempPrefix+random+durable.TempSuffix))
}

func (m *memFS) Append(name string) (durable.File, error) { return m.open(name) }

func (m *memFS) open(name string) (durable.File, error) {
	err := m.step(func() {
		if m.names[name] == nil {
			m.names[name] = &memFile{}
		}
	})
	return &memHandle{fs: m, name: name, file: m.names[name]}, err
}

func (m *memFS) Open(name string) (io.ReadCloser, error) {
	f := m.names[name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(bytes.NewReader(f.content)), nil
}

func (m *memFS) Truncate(name string, size int64) error {
	return m.step(func() { m.names[name].content = m.names[name].content[:size] })
}

func (m *memFS) Rename(oldName, newName string) error {
	return m.step(func() {
		m.names[newName] = m.names[oldName]
		delete(m.names, oldName)
	})
}

func (m *memFS) Remove(name string) error {
	if m.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	return m.step(func() { delete(m.names, name) })
}

func (m *memFS) SyncDir(string) error {
	return m.step(func() { m.durable = maps.Clone(m.names) })
}

func (m *memFS) List(dir string) ([]string, error) {
	var names []string
	for name := range m.names {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (m *memFS) Lock(name string) (io.Closer, error) {
	if m.locked[name] {
		return nil, durable.ErrLocked
	}
	m.locked[name] = true
	return unlocker(func() { m.locked[name] = false }), nil
}

// visible returns the content of the files that a reader of the lake sees.
func (m *memFS) visible() map[string]string {
	seen := map[string]string{}
	for name, f := range m.names {
		if base := filepath.Base(name); !strings.HasPrefix(base, ".") {
			seen[base] = string(f.content)
		}
	}
	return seen
}

type unlocker func()

func (u unlocker) Close() error { u(); return nil }

type memHandle struct {
	fs   *memFS
	name string
	file *memFile
}

// Write fails after half of the bytes, so that torn writes are seen.
func (h *memHandle) Write(b []byte) (int, error) {
	n := 0
	err := h.fs.step(func() {
		n = len(b)
		h.file.content = append(h.file.content, b...)
	})
	if err != nil && n == 0 {
		n = len(b) / 2
		h.file.content = append(h.file.content, b[:n]...)
	}
	return n, err
}

func (h *memHandle) Sync() error {
	return h.fs.step(func() { h.file.durable = bytes.Clone(h.file.content) })
}

func (h *memHandle) Close() error { return nil }
func (h *memHandle) Name() string { return h.name }

// killed returns the file system as a killed process leaves it: all that was
// written is there.
func (m *memFS) killed() *memFS {
	left := newMemFS()
	left.temps = m.temps
	for name, f := range m.names {
		left.names[name] = &memFile{content: bytes.Clone(f.content), durable: bytes.Clone(f.durable)}
	}
	for name, f := range m.durable {
		if m.names[name] == f {
			left.durable[name] = left.names[name]
		} else {
			left.durable[name] = &memFile{content: bytes.Clone(f.content), durable: bytes.Clone(f.durable)}
		}
	}
	return left
}
