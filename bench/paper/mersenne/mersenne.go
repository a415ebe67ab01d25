// Package mersenne draws the same permutations and normal numbers as numpy's legacy generator, which published
// experiments use.
package mersenne

import (
	"math"

	"gonum.org/v1/gonum/mathext/prng"
)

// Permutation returns numpy.random.RandomState(seed).permutation(n).
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

// Normals returns numpy.random.RandomState(seed).standard_normal(n). That is Marsaglia's polar method, which
// returns the second number of a pair first.
func Normals(n int, seed uint64) []float64 {
	source := prng.NewMT19937()
	source.Seed(seed)
	uniform := func() float64 { // on [−1, 1), of 53 bits
		high, low := float64(source.Uint32()>>5), float64(source.Uint32()>>6)
		return 2*((high*0x1p26+low)/0x1p53) - 1
	}
	all := make([]float64, 0, n+1)
	for len(all) < n {
		a, b := uniform(), uniform()
		if r := a*a + b*b; r < 1 && r != 0 {
			f := math.Sqrt(-2 * math.Log(r) / r)
			all = append(all, f*b, f*a)
		}
	}
	return all[:n]
}
