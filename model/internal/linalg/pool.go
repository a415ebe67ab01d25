package linalg

import (
	"sync"
	"sync/atomic"
)

// A Pool runs the operations of this package on a fixed number of workers, the calling goroutine being one of
// them. Several goroutines may call its methods at once, also from inside [Pool.For]: work is offered to idle
// workers only, and otherwise done by the caller. So there are never more busy goroutines than callers and
// workers, and never a deadlock.
type Pool struct {
	workers int
	offers  chan *fork // unbuffered: a send succeeds only if a worker is idle
	calls   freeList   // memory of whole operations
	pieces  freeList   // memory of pieces of work
	closing sync.Once
	done    sync.WaitGroup
}

// A fork is n independent pieces of work that workers share.
type fork struct {
	run  func(i int)
	n    int64
	next atomic.Int64
	wait sync.WaitGroup // counts workers that have accepted the offer and still work
}

// NewPool starts a pool of the given number of workers, at least one. That includes the caller: NewPool(1)
// starts no goroutine. Close ends the workers.
func NewPool(workers int) *Pool {
	p := &Pool{workers: max(1, workers), offers: make(chan *fork)}
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
func (p *Pool) For(n int, f func(i int)) {
	if p.workers == 1 || n <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	shared := &fork{run: f, n: int64(n)}
	p.offer(shared, min(p.workers, n)-1)
	shared.work()
	shared.wait.Wait()
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

// work runs pieces until none remains.
func (f *fork) work() {
	for i := f.next.Add(1) - 1; i < f.n; i = f.next.Add(1) - 1 {
		f.run(int(i))
	}
}

// A freeList keeps scratch memory between calls, because operations need much of it. It has no more slices than
// were ever in use at once.
type freeList struct {
	mu   sync.Mutex
	free [][]float64
}

// get returns n elements with undefined values. The caller gives them back with put.
func (s *freeList) get(n int) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var mem []float64
	if last := len(s.free) - 1; last >= 0 {
		mem, s.free = s.free[last], s.free[:last]
	}
	if cap(mem) < n {
		mem = make([]float64, n)
	}
	return mem[:n]
}

func (s *freeList) put(mem []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, mem)
}
