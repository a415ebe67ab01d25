// Package mersenne draws the permutations that numpy's legacy generator draws, by which
// published experiments split their rows.
package mersenne

import "gonum.org/v1/gonum/mathext/prng"

// Permutation is numpy.random.RandomState(seed).permutation(n).
func Permutation(n int, seed uint64) []int {
	source := prng.NewMT19937()
	source.Seed(seed)
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		mask := uint32(i) //nolint:gosec // rows of a small set
		for shift := 1; shift < 32; shift *= 2 {
			mask |= mask >> shift
		}
		j := source.Uint32() & mask
		for j > uint32(i) { //nolint:gosec // rows of a small set
			j = source.Uint32() & mask
		}
		p[i], p[j] = p[j], p[i]
	}
	return p
}
