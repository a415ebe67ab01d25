package mersenne

import (
	"slices"
	"testing"
)

// The wanted permutations are numpy's.
func TestPermutation(t *testing.T) {
	for _, c := range []struct {
		n    int
		seed uint64
		want []int
	}{
		{10, 0, []int{2, 8, 4, 9, 1, 6, 7, 3, 0, 5}},
		{7, 2, []int{4, 1, 3, 2, 6, 5, 0}},
	} {
		if got := Permutation(c.n, c.seed); !slices.Equal(got, c.want) {
			t.Errorf("Permutation(%d, %d) = %v, want %v", c.n, c.seed, got, c.want)
		}
	}
}
