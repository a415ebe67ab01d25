package durabletest

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// ErrKilled says that the process is dead: nothing that it does has an effect any more.
var ErrKilled = errors.New("killed")

// A Moment is when in an operation a fault happens.
type Moment string

// The moments of an operation. A write can end in its middle; of other operations Half is
// Before.
const (
	Before Moment = "before"
	Half   Moment = "half"
	After  Moment = "after"
)

// Moments are all of them.
var Moments = []Moment{Before, Half, After}

// A Fault fails one operation, and all later ones unless it passes.
type Fault struct {
	At     int // the number of the operation, from 1; 0: none fails
	Moment Moment
	Err    error
	Passes bool // as a full disk on which room is made; else the process is dead
}

// Faulty is a file system with a fault. Unless the fault passes, it closes what was opened or
// locked for writing, as a system does for a process that dies.
type Faulty struct {
	Hooked
	Fault Fault

	mu         sync.Mutex
	operations int
	open       []io.Closer
}

// NewFaulty returns fsys with a fault.
func NewFaulty(fsys durable.FS, fault Fault) *Faulty {
	f := &Faulty{Fault: fault}
	f.Hooked = Hooked{FS: fsys, Hook: f.step}
	return f
}

// Operations returns how many operations were asked for, those that failed included.
func (f *Faulty) Operations() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.operations
}

// step counts an operation and runs it, or fails instead.
func (f *Faulty) step(op Operation, effect func() error) error {
	f.mu.Lock()
	f.operations++
	number := f.operations
	f.mu.Unlock()
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
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Fault.At > 0 && !f.Fault.Passes && f.operations >= f.Fault.At
}

func (f *Faulty) die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.open {
		_ = c.Close()
	}
	f.open = nil
}

// CreateTemp makes a file that is closed when the process dies.
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

// Close fails as all else does when the process is dead: another goroutine may have died.
func (m mortal) Close() error {
	err := m.File.Close()
	if m.of.dead() {
		return m.of.Fault.Err
	}
	return err
}

// Lock takes a lock that goes when the process dies.
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

// closeAtDeath closes what the process has opened, perhaps again, once it is dead.
func (f *Faulty) closeAtDeath(c io.Closer) {
	f.mu.Lock()
	f.open = append(f.open, c)
	f.mu.Unlock()
	if f.dead() { // meanwhile
		f.die()
	}
}
