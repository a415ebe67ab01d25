package linalg

import (
	"sync"
	"sync/atomic"
)

// A Pool runs the operations of this package on a fixed number of workers, the calling
// goroutine being one of them. Its methods may be called by several goroutines at once,
// and from inside [Pool.For]: work is offered to idle workers only, and otherwise done
// by the caller, so that there are never more busy goroutines than callers and workers,
// and never a deadlock.
type Pool struct {
	workers int
	offers  chan *fork // unbuffered: a send succeeds only if a worker is idle
	calls   freeList   // memory of whole operations
	pieces  freeList   // memory of pieces of work
	forks   sync.Pool  // of *fork
	closing sync.Once
	done    sync.WaitGroup
}

// A job is n independent pieces of work.
type job interface {
	run(i int)
}

type jobFunc func(i int)

func (f jobFunc) run(i int) { f(i) }

// A fork is one job being shared between workers.
type fork struct {
	job  job
	n    int64
	next atomic.Int64
	wait sync.WaitGroup // one for each worker that accepted the offer
}

// NewPool starts a pool of the given number of workers, at least one, which includes
// the caller: NewPool(1) starts no goroutine. Close ends them.
func NewPool(workers int) *Pool {
	p := &Pool{workers: max(1, workers), offers: make(chan *fork)}
	p.forks.New = func() any { return new(fork) }
	for range p.workers - 1 {
		p.done.Go(func() {
			for f := range p.offers {
				f.work()
				f.wait.Done()
			}
		})
	}
	return p
}

// Workers returns the number of workers, the caller included.
func (p *Pool) Workers() int { return p.workers }

// Close ends the workers and waits for them. The pool must not be in use, nor be used
// afterwards. Further calls do nothing.
func (p *Pool) Close() {
	p.closing.Do(func() { close(p.offers) })
	p.done.Wait()
}

// For calls f(0), …, f(n-1), each once, in no particular order and possibly at the same
// time, and returns when all have returned.
func (p *Pool) For(n int, f func(i int)) { p.run(n, jobFunc(f)) }

func (p *Pool) run(n int, j job) {
	if p.workers == 1 || n <= 1 {
		for i := range n {
			j.run(i)
		}
		return
	}
	f := p.forks.Get().(*fork)
	f.job, f.n = j, int64(n)
	f.next.Store(0)
	p.offer(f, min(p.workers, n)-1)
	f.work()
	f.wait.Wait()
	f.job = nil
	p.forks.Put(f)
}

// offer hands f to up to n idle workers.
func (p *Pool) offer(f *fork, n int) {
	for range n {
		f.wait.Add(1)
		select {
		case p.offers <- f:
		default:
			f.wait.Done()
			return
		}
	}
}

// work runs pieces until none is left.
func (f *fork) work() {
	for i := f.next.Add(1) - 1; i < f.n; i = f.next.Add(1) - 1 {
		f.job.run(int(i))
	}
}

// A buffer is scratch memory of one call, kept by the pool between calls. It also holds
// the call's own state, so that a call allocates nothing once buffers have grown.
type buffer struct {
	data    []float64
	offsets []int
	batch   batch
	pack    packTriangle
	rows    solveRows
	cols    solveCols
	kernel  kernelBlock
}

// A freeList keeps free buffers: with those in use, as many as were ever in use at once.
type freeList struct {
	mu   sync.Mutex
	free []*buffer
}

// borrow returns a buffer until put.
func (s *freeList) borrow() *buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return new(buffer)
	}
	b := s.free[n-1]
	s.free = s.free[:n-1]
	return b
}

func (s *freeList) put(b *buffer) {
	clear(b.batch.blocks) // lets operands be freed
	*b = buffer{data: b.data, offsets: b.offsets, batch: batch{blocks: b.batch.blocks[:0]}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, b)
}

// get returns n elements of any value. The buffer owns them.
func (b *buffer) get(n int) []float64 {
	if cap(b.data) < n {
		b.data = make([]float64, n)
	}
	return b.data[:n]
}
