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
	open       map[*kept]bool
}

// NewFaulty returns fsys with a fault.
func NewFaulty(fsys durable.FS, fault Fault) *Faulty {
	f := &Faulty{Fault: fault, open: map[*kept]bool{}}
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
		_ = effect() // nobody is there to be told
	case now && f.Fault.Moment == Half && op.Half != nil:
		op.Half()
	}
	if !f.Fault.Passes {
		f.die()
	}
	return fmt.Errorf("operation %d, %s: %w", number, op.Kind, f.Fault.Err)
}

func (f *Faulty) dead() bool {
	return f.Fault.At > 0 && !f.Fault.Passes && f.operations >= f.Fault.At
}

func (f *Faulty) die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.open {
		_ = k.Closer.Close()
	}
	clear(f.open)
}

// CreateTemp makes a file that is closed when the process dies.
func (f *Faulty) CreateTemp(dir string) (durable.File, error) {
	return f.opened(f.Hooked.CreateTemp(dir))
}

// Append opens a file that is closed when the process dies.
func (f *Faulty) Append(name string) (durable.File, error) {
	return f.opened(f.Hooked.Append(name))
}

func (f *Faulty) opened(file durable.File, err error) (durable.File, error) {
	if err != nil {
		return nil, err
	}
	return faultyFile{file, f.kept(file)}, nil
}

// Lock takes a lock that goes when the process dies.
func (f *Faulty) Lock(name string) (io.Closer, error) {
	f.mu.Lock()
	dead := f.dead()
	f.mu.Unlock()
	if dead {
		return nil, f.Fault.Err
	}
	lock, err := f.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	return f.kept(lock), nil
}

func (f *Faulty) kept(c io.Closer) io.Closer {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := &kept{c, f}
	if f.dead() { // meanwhile
		_ = c.Close()
	} else {
		f.open[k] = true
	}
	return k
}

// kept is open until it is closed, or the process dies.
type kept struct {
	io.Closer
	of *Faulty
}

func (k *kept) Close() error {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	if !k.of.open[k] {
		return nil
	}
	delete(k.of.open, k)
	return k.Closer.Close()
}

type faultyFile struct {
	durable.File
	closer io.Closer
}

func (f faultyFile) Close() error { return f.closer.Close() }
