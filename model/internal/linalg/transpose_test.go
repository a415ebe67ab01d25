package linalg

import "testing"

func TestTransposeAndMirror(t *testing.T) {
	withSets(t, func(t *testing.T) {
		p := NewPool(3)
		defer p.Close()
		r := newRand()
		for _, shape := range [][2]int{{1, 1}, {3, 5}, {64, 64}, {65, 63}, {130, 7}, {4, 200}, {129, 131}} {
			a, dst := randMat(r, shape[0], shape[1], 3), randMat(r, shape[1], shape[0], 5)
			p.Transpose(a, dst)
			for i := range a.Rows {
				for j := range a.Cols {
					if dst.Row(j)[i] != a.Row(i)[j] {
						t.Fatalf("%v: element (%d, %d) is not at its position", shape, i, j)
					}
				}
			}
			checkGuards(t, "transpose", dst)
		}
		for _, n := range []int{1, 4, 63, 64, 65, 200} {
			a := randMat(r, n, n, 3)
			want := clone(a)
			p.Mirror(a)
			for i := range n {
				for j := range n {
					if a.Row(i)[j] != want.Row(max(i, j))[min(i, j)] {
						t.Fatalf("n=%d: element (%d, %d) is not that of the lower triangle", n, i, j)
					}
				}
			}
			checkGuards(t, "mirror", a)
		}
	})
}
