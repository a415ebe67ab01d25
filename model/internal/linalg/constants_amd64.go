//go:build !noasm

package linalg

// constants are the scalars, each in the eight lanes of the widest vector. They lie on
// the heap, which puts an object of 3 KB at a multiple of 64 bytes: a vector that
// straddles two lines of the cache costs 30 % of the speed of exp. (A slice of exactly
// this size: the allocator's class of 3,072 bytes.)
var constants = func() []float64 {
	c := make([]float64, 384)
	for i := range constantCount * 8 {
		c[i] = scalars[i/8]
	}
	return c
}()
