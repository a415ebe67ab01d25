package model

import "github.com/pacsgp/pacsgp/model/internal/linalg"

// Operations on M×M matrices that need only a triangle. They halve the matrix down to
// blocks of a fixed size: nearly all of their work is large products and solves, and
// outside these blocks the number of operations is the least possible.

const (
	// squareBlock is the size up to which a matrix is treated as a whole.
	squareBlock = 128
	// twoSidedBlock is the same for two-sided solves. For two workers, halves of a smaller matrix are too small
	// to share, and a third more operations in large products take less time.
	twoSidedBlock = 512
)

// halve returns the number of rows of the first half of a matrix of m rows.
func halve(m int) int {
	const grain = 24 // the result is a multiple of the kernels' tiles
	return (m/2 + grain - 1) / grain * grain
}

// quarters returns the leading h×h block, the block below it, and the trailing block.
func quarters(a linalg.Mat, h int) (lead, below, rest linalg.Mat) {
	m := a.Rows
	return a.Slice(0, h, 0, h), a.Slice(h, m, 0, h), a.Slice(h, m, h, m)
}

// both calls f and g, possibly at the same time.
func both(pool *linalg.Pool, f, g func()) {
	pool.For(2, func(i int) {
		if i == 0 {
			f()
		} else {
			g()
		}
	})
}

// invertLower sets dst to l⁻¹, lower triangular with zeros above.
//
//	X₂₁ = −L₂₂⁻¹ L₂₁ X₁₁
func invertLower(pool *linalg.Pool, l, dst linalg.Mat) {
	m := l.Rows
	if m <= squareBlock {
		for i := range m {
			clear(dst.Row(i))
			dst.Row(i)[i] = 1
		}
		pool.TrsmLeftLower(l, dst)
		return
	}
	h := halve(m)
	l11, l21, l22 := quarters(l, h)
	x11, x21, x22 := quarters(dst, h)
	both(pool, func() { invertLower(pool, l11, x11) }, func() { invertLower(pool, l22, x22) })
	pool.TrmmRightLower(x11, l21, x21)
	pool.TrsmLeftLower(l22, x21)
	for i := range x21.Rows {
		row := x21.Row(i)
		for j := range row {
			row[j] = -row[j]
		}
	}
	for i := range h {
		clear(dst.Row(i)[h:])
	}
}

// gramLower sets the lower triangle of dst to wᵀw, for w lower triangular with zeros above. The rest of dst is
// left in any state.
//
//	G₁₁ = W₁₁ᵀW₁₁ + W₂₁ᵀW₂₁,  G₂₁ = W₂₂ᵀW₂₁
func gramLower(pool *linalg.Pool, w, dst linalg.Mat) {
	if w.Rows <= squareBlock {
		pool.Syrk(true, 1, w, 0, dst)
		return
	}
	h := halve(w.Rows)
	w11, w21, w22 := quarters(w, h)
	g11, g21, g22 := quarters(dst, h)
	both(pool, func() { gramLower(pool, w11, g11) }, func() { gramLower(pool, w22, g22) })
	pool.Syrk(true, 1, w21, 1, g11)
	pool.Gemm(true, false, 1, w22, w21, 0, g21)
}

// A whitener is a lower triangular l, prepared for two-sided solves.
type whitener struct {
	l linalg.Mat // [M×M]
	// inverses holds the inverses of l's diagonal blocks of up to twoSidedBlock rows. Each is in the rows of
	// its block, from column 0 on.
	inverses linalg.Mat // [M×min(M, twoSidedBlock)]
	scratch  linalg.Mat // square, as large as the larger half of l, or as l if that is one block
}

func newWhitener(m int) whitener {
	size := m
	if m > twoSidedBlock {
		size = max(halve(m), m-halve(m))
	}
	return whitener{l: linalg.NewMat(m, m), inverses: linalg.NewMat(m, min(m, twoSidedBlock)), scratch: linalg.NewMat(size, size)}
}

// halves returns the whiteners of the diagonal blocks of l: the first h rows, and the rest.
func (w whitener) halves(h int) (lead, rest whitener) {
	m, cols := w.l.Rows, w.inverses.Cols
	lead = whitener{w.l.Slice(0, h, 0, h), w.inverses.Slice(0, h, 0, cols), w.scratch}
	rest = whitener{w.l.Slice(h, m, h, m), w.inverses.Slice(h, m, 0, cols), w.scratch}
	return lead, rest
}

// inverse returns the inverse of l, if l is one block.
func (w whitener) inverse() linalg.Mat { return w.inverses.Slice(0, w.l.Rows, 0, w.l.Rows) }

// prepare computes inverses, and must be called for each new l.
func (w whitener) prepare(pool *linalg.Pool) {
	if w.l.Rows <= twoSidedBlock {
		invertLower(pool, w.l, w.inverse())
		return
	}
	lead, rest := w.halves(halve(w.l.Rows))
	both(pool, func() { lead.prepare(pool) }, func() { rest.prepare(pool) })
}

// whole replaces a by l⁻¹ a l⁻ᵀ, or by l⁻ᵀ a l⁻¹ if trans is set. l must be one block.
func (w whitener) whole(pool *linalg.Pool, trans bool, a linalg.Mat) {
	pool.Mirror(a)
	pool.Congruence(trans, w.inverse(), a, w.scratch.Slice(0, a.Rows, 0, a.Rows))
}

// solveBothSides overwrites the symmetric a, of which the lower triangle is read, with l⁻¹ a l⁻ᵀ, symmetric to the bit.
//
//	A₁₁ ← L₁₁⁻¹A₁₁L₁₁⁻ᵀ,  W = A₂₁L₁₁⁻ᵀ − ½L₂₁A₁₁,
//	A₂₂ ← L₂₂⁻¹(A₂₂ − WL₂₁ᵀ − L₂₁Wᵀ)L₂₂⁻ᵀ,  A₂₁ ← L₂₂⁻¹(W − ½L₂₁A₁₁)
func (w whitener) solveBothSides(pool *linalg.Pool, a linalg.Mat) {
	if a.Rows <= twoSidedBlock {
		w.whole(pool, false, a)
		return
	}
	h := halve(a.Rows)
	lead, rest := w.halves(h)
	l11, l21, l22 := quarters(w.l, h)
	a11, a21, a22 := quarters(a, h)
	half := w.scratch.Slice(0, a21.Rows, 0, h)
	lead.solveBothSides(pool, a11)
	pool.TrsmRightLowerTrans(l11, a21)
	pool.Gemm(false, false, -0.5, l21, a11, 0, half)
	add(pool, half, a21)
	pool.GemmLower(false, true, -1, a21, l21, 1, a22)
	pool.GemmLower(false, true, -1, l21, a21, 1, a22)
	add(pool, half, a21)
	pool.TrsmLeftLower(l22, a21)
	rest.solveBothSides(pool, a22)
	pool.Transpose(a21, a.Slice(0, h, h, a.Rows))
}

// solveBothSidesTrans overwrites the symmetric a, of which the lower triangle is
// read, with l⁻ᵀ a l⁻¹, symmetric to the bit.
//
//	A₂₂ ← L₂₂⁻ᵀA₂₂L₂₂⁻¹,  W = L₂₂⁻ᵀA₂₁ − ½A₂₂L₂₁,
//	A₁₁ ← L₁₁⁻ᵀ(A₁₁ − WᵀL₂₁ − L₂₁ᵀW)L₁₁⁻¹,  A₂₁ ← (W − ½A₂₂L₂₁)L₁₁⁻¹
func (w whitener) solveBothSidesTrans(pool *linalg.Pool, a linalg.Mat) {
	if a.Rows <= twoSidedBlock {
		w.whole(pool, true, a)
		return
	}
	h := halve(a.Rows)
	lead, rest := w.halves(h)
	l11, l21, l22 := quarters(w.l, h)
	a11, a21, a22 := quarters(a, h)
	half := w.scratch.Slice(0, a21.Rows, 0, h)
	rest.solveBothSidesTrans(pool, a22)
	pool.TrsmLeftLowerTrans(l22, a21)
	pool.Gemm(false, false, -0.5, a22, l21, 0, half)
	add(pool, half, a21)
	pool.GemmLower(true, false, -1, a21, l21, 1, a11)
	pool.GemmLower(true, false, -1, l21, a21, 1, a11)
	add(pool, half, a21)
	pool.TrsmRightLower(l11, a21)
	lead.solveBothSidesTrans(pool, a11)
	pool.Transpose(a21, a.Slice(0, h, h, a.Rows))
}

// add adds a to dst.
func add(pool *linalg.Pool, a, dst linalg.Mat) {
	eachRow(pool, a.Rows, func(i int) { linalg.Axpy(1, a.Row(i), dst.Row(i)) })
}

// copyMat copies src to dst.
func copyMat(pool *linalg.Pool, dst, src linalg.Mat) {
	eachRow(pool, src.Rows, func(i int) { copy(dst.Row(i), src.Row(i)) })
}

// eachRow calls f for each of m rows, for several at the same time.
func eachRow(pool *linalg.Pool, m int, f func(i int)) {
	const rows = 32 // that one worker does in a piece
	pool.For((m+rows-1)/rows, func(b int) {
		for i := b * rows; i < min(m, (b+1)*rows); i++ {
			f(i)
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
