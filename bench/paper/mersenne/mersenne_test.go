package mersenne

import (
	"math"
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

// The wanted numbers are numpy's, to its eight printed digits.
func TestNormals(t *testing.T) {
	for seed, want := range map[uint64][]float64{
		0: {1.76405235, 0.40015721, 0.97873798, 2.2408932, 1.86755799},
		3: {1.78862847, 0.43650985, 0.09649747},
	} {
		for i, got := range Normals(len(want), seed) {
			if !(math.Abs(got-want[i]) <= 5e-9) {
				t.Errorf("number %d of seed %d is %v, want %v", i, seed, got, want[i])
			}
		}
	}
}
