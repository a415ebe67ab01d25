package model

import "github.com/pacsgp/pacsgp/model/internal/linalg"

// squareBlock is the width of the stripes in which M×M matrices are computed
// of which only a triangle is wanted.
const squareBlock = 256

// stripes calls f with [from, to) for stripes of squareBlock rows or columns,
// each once, possibly at the same time. It begins with the first or the last:
// with the longest.
func stripes(pool *linalg.Pool, m int, lastFirst bool, f func(from, to int)) {
	n := (m + squareBlock - 1) / squareBlock
	pool.For(n, func(i int) {
		if lastFirst {
			i = n - 1 - i
		}
		f(i*squareBlock, min(m, (i+1)*squareBlock))
	})
}

// invertLower sets dst to l⁻¹, lower triangular with zeros above.
func invertLower(pool *linalg.Pool, l, dst linalg.Mat) {
	m := l.Rows
	stripes(pool, m, false, func(from, to int) {
		for i := range m {
			clear(dst.Row(i)[from:to])
		}
		for i := from; i < to; i++ {
			dst.Row(i)[i] = 1
		}
		pool.TrsmLeftLower(l.Slice(from, m, from, m), dst.Slice(from, m, from, to))
	})
}

// gramLower sets the lower triangle of dst to wᵀw, w lower triangular with
// zeros above. The rest of dst is left in any state.
func gramLower(pool *linalg.Pool, w, dst linalg.Mat) {
	m := w.Rows
	stripes(pool, m, true, func(from, to int) {
		pool.Gemm(true, false, 1, w.Slice(from, m, from, to), w.Slice(from, m, 0, to), 0, dst.Slice(from, to, 0, to))
	})
}

// congruence overwrites the symmetric a with l⁻¹ a l⁻ᵀ, symmetric to the bit.
func congruence(pool *linalg.Pool, l, a linalg.Mat) {
	pool.TrsmLeftLower(l, a)
	stripes(pool, a.Rows, true, func(from, to int) {
		pool.TrsmRightLowerTrans(l.Slice(0, to, 0, to), a.Slice(from, to, 0, to))
	})
	mirror(pool, a)
}

// congruenceTrans overwrites the symmetric a with l⁻ᵀ a l⁻¹, symmetric to the
// bit.
func congruenceTrans(pool *linalg.Pool, l, a linalg.Mat) {
	m := a.Rows
	pool.TrsmRightLower(l, a)
	stripes(pool, m, false, func(from, to int) {
		pool.TrsmLeftLowerTrans(l.Slice(from, m, from, m), a.Slice(from, m, from, to))
	})
	mirror(pool, a)
}

// mirror copies the lower triangle to the upper.
func mirror(pool *linalg.Pool, a linalg.Mat) {
	const block = 32 // rows and columns, for the sake of the cache
	pool.For((a.Rows+block-1)/block, func(b int) {
		last := min(a.Rows, (b+1)*block)
		for from := 0; from < last; from += block {
			for i := b * block; i < last; i++ {
				for j := from; j < min(i, from+block); j++ {
					a.Data[j*a.Stride+i] = a.Data[i*a.Stride+j]
				}
			}
		}
	})
}

// solveLower overwrites x with l⁻¹x.
func solveLower(l linalg.Mat, x []float64) {
	for i := range x {
		row := l.Row(i)
		x[i] = (x[i] - linalg.Dot(row[:i], x)) / row[i]
	}
}

// solveLowerTrans overwrites x with l⁻ᵀx.
func solveLowerTrans(l linalg.Mat, x []float64) {
	for i := len(x) - 1; i >= 0; i-- {
		row := l.Row(i)
		x[i] /= row[i]
		linalg.Axpy(-x[i], row[:i], x)
	}
}

// column returns a view of v as a matrix of one column.
func column(v []float64) linalg.Mat {
	return linalg.Mat{Rows: len(v), Cols: 1, Stride: 1, Data: v}
}
