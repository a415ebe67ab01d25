package linalg

import (
	"math"
	"testing"
)

func TestInstructionSets(t *testing.T) {
	sets := InstructionSets()
	if got := InstructionSet(); got != sets[0] {
		t.Errorf("set in use = %q, want the best of %q", got, sets)
	}
	if last := sets[len(sets)-1]; last != "portable" {
		t.Errorf("last of %q, want portable", sets)
	}
	if err := UseInstructionSet("sse9"); err == nil {
		t.Error("UseInstructionSet(sse9) = nil, want an error")
	}
	for _, s := range available() {
		if diagonalBlock%s.nr != 0 || zeroStep%s.nr != 0 {
			t.Errorf("%s: tile %d×%d does not divide the blocks", s.name, s.mr, s.nr)
		}
	}
	if kBlock%diagonalBlock != 0 || diagonalBlock%zeroStep != 0 {
		t.Error("the blocks do not divide each other")
	}
}

// TestTiles compares the micro-kernels with the chain of fused operations that defines
// them: every number of rows and columns, guards next to the tile.
func TestTiles(t *testing.T) {
	r := newRand()
	for _, s := range available() {
		for _, k := range []int{1, 2, 3, 4, 5, 7, 8, 31} {
			a, b := randMat(r, k, s.mr, 0), randMat(r, k, s.nr, 0)
			for rows := 1; rows <= s.mr; rows++ {
				for cols := 1; cols <= s.nr; cols++ {
					for _, store := range []bool{false, true} {
						c := randMat(r, rows, cols, 3)
						got := cloneWide(c)
						s.gemm(k, -1.7, a.Data, b.Data, got.Data, got.Stride, rows, cols, store, b.Data)
						checkGuards(t, s.name, got)
						equalBits(t, s.name, got, tileReference(a, b, c, -1.7, store))
					}
				}
			}
		}
	}
}

func tileReference(a, b, c Mat, alpha float64, store bool) Mat {
	out := NewMat(c.Rows, c.Cols)
	for i := range c.Rows {
		for j := range c.Cols {
			sum, old := 0.0, c.Row(i)[j]
			if store {
				old = 0
			}
			for k := range a.Rows {
				sum = math.FMA(a.Row(k)[i], b.Row(k)[j], sum)
			}
			out.Row(i)[j] = math.FMA(alpha, sum, old)
		}
	}
	return out
}
