package linalg

import (
	"sync/atomic"
	"testing"
)

func TestForCallsEachOnce(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 5} {
		p := NewPool(workers)
		for _, n := range []int{0, 1, 2, 3, 100} {
			calls := make([]atomic.Int32, n)
			p.For(n, func(i int) { calls[i].Add(1) })
			for i := range calls {
				if got := calls[i].Load(); got != 1 {
					t.Errorf("workers %d, n %d: f(%d) called %d times, want 1", workers, n, i, got)
				}
			}
		}
		p.Close()
		p.Close()
	}
}

func TestForNestedAndConcurrent(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	var total atomic.Int64
	p.For(8, func(int) {
		p.For(8, func(int) {
			p.For(8, func(int) { total.Add(1) })
		})
	})
	if got := total.Load(); got != 512 {
		t.Errorf("nested calls = %d, want 512", got)
	}
}
