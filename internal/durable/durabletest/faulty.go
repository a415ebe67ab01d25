package durabletest

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// ErrKilled means that the simulated process is dead: its operations have no effect.
var ErrKilled = errors.New("killed")

// A Moment is the moment of a fault within an operation.
type Moment string

// Moments of an operation. Only a write has a half: for other operations, Half means Before.
const (
	Before Moment = "before"
	Half   Moment = "half"
	After  Moment = "after"
)

// Moments has all moments.
var Moments = []Moment{Before, Half, After}

// A Fault fails one operation and, unless Passes is set, all later ones.
type Fault struct {
	At     int // number of the operation, from 1; 0 means no fault
	Moment Moment
	Err    error
	Passes bool // later operations succeed, as on a full disk that gets space; otherwise the process is dead
}

// Faulty is a file system with a fault. Unless the fault passes, it then closes all files and locks
// that were opened for writing, as a system does when a process dies.
type Faulty struct {
	Hooked
	Fault Fault

	operations atomic.Int64

	mu   sync.Mutex // guards open
	open []io.Closer
}

// NewFaulty returns fsys with a fault.
func NewFaulty(fsys durable.FS, fault Fault) *Faulty {
	f := &Faulty{Fault: fault}
	f.Hooked = Hooked{FS: fsys, Hook: f.step}
	return f
}

// Operations returns how many operations were called, including failed ones.
func (f *Faulty) Operations() int { return int(f.operations.Load()) }

// step counts an operation, and runs it or makes it fail.
func (f *Faulty) step(op Operation, effect func() error) error {
	number := int(f.operations.Add(1))
	now := number == f.Fault.At
	if !now && (f.Fault.At == 0 || number < f.Fault.At || f.Fault.Passes) {
		return effect()
	}
	switch {
	case now && f.Fault.Moment == After:
		_ = effect() // the process is dead
	case now && f.Fault.Moment == Half && op.Half != nil:
		op.Half()
	}
	if !f.Fault.Passes {
		f.die()
	}
	return fmt.Errorf("operation %d, %s: %w", number, op.Kind, f.Fault.Err)
}

func (f *Faulty) dead() bool {
	return f.Fault.At > 0 && !f.Fault.Passes && f.Operations() >= f.Fault.At
}

func (f *Faulty) die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.open {
		_ = c.Close()
	}
	f.open = nil
}

// CreateTemp creates a file that is closed when the process dies.
func (f *Faulty) CreateTemp(dir string) (durable.File, error) {
	file, err := f.Hooked.CreateTemp(dir)
	if err == nil {
		f.closeAtDeath(file)
		file = mortal{file, f}
	}
	return file, err
}

type mortal struct {
	durable.File
	of *Faulty
}

// Close fails if the process is dead, also if another goroutine has killed it.
func (m mortal) Close() error {
	err := m.File.Close()
	if m.of.dead() {
		return m.of.Fault.Err
	}
	return err
}

// Lock takes a lock that is released when the process dies.
func (f *Faulty) Lock(name string) (io.Closer, error) {
	if f.dead() {
		return nil, f.Fault.Err
	}
	lock, err := f.FS.Lock(name)
	if err == nil {
		f.closeAtDeath(lock)
	}
	return lock, err
}

// closeAtDeath registers a file or lock to be closed when the process dies. It may be closed twice.
func (f *Faulty) closeAtDeath(c io.Closer) {
	f.mu.Lock()
	f.open = append(f.open, c)
	f.mu.Unlock()
	if f.dead() { // died in the meantime
		f.die()
	}
}
