package linalg

// A kernelSet is one implementation of the innermost loops. All sets give the same bits.
type kernelSet struct {
	name string

	// mr×nr is the tile of gemm. nr divides zeroStep.
	mr, nr int

	// gemm computes c = alpha·a·b + c, or alpha·a·b if store is set, for a tile of rows ≤ mr and cols ≤ nr
	// elements: a and b are packed panels of mr and nr elements for each of k > 0 steps. Each element is one
	// chain of k fused multiply-adds and one more for alpha. Meanwhile the start of ahead, rate elements for
	// each step, is fetched into the level-2 cache.
	gemm func(k int, alpha float64, a, b, c []float64, ldc, rows, cols int, store bool, ahead []float64)
	rate int

	// packTrans puts four rows of src, k columns (a multiple of 4), into columns 0 to 3 of dst.
	packTrans func(k int, src []float64, ld int, dst []float64, stride int)

	// packRows puts k rows of src, width columns (a multiple of 4), into dst without gaps. Row i is multiplied
	// by w[i] unless w is nil.
	packRows func(k int, src []float64, ld int, dst []float64, width int, w []float64)

	// axpy computes y += alpha·x for slices of the same length > 0.
	axpy func(alpha float64, x, y []float64)

	// combine is n calls of axpy: y −= Σ coef[k·stride]·(row k), for rows of choleskyBlock elements; may be nil.
	combine func(n int, coef *float64, stride int, rows, y *float64)

	// substitute solves a packed diagonal block of n columns for count panels. x holds the panels, which are
	// panel elements apart; each has its columns, of mr rows, one after the other. If backwards is set, the
	// last column is solved first. For each column, in the order of solution, coef holds the factors of the
	// columns solved before, in their order, and then the reciprocal of the diagonal element.
	substitute func(n, count, panel int, coef, x []float64, backwards bool)

	// dot and sum return Σ x·y and Σ x for a multiple of lanes elements > 0.
	dot func(x, y []float64) float64
	sum func(x []float64) float64

	// exp, cdf and cdfPDF are the functions of constants.go, for slices of the same length > 0.
	exp, cdf func(dst, x []float64)
	cdfPDF   func(cdf, pdf, x []float64)

	// kernelCols is the width of a panel of a kernel block, a multiple of squaresCols.
	kernelCols int
	// panels holds the assembly of profiles; [Profile.At] computes the others.
	panels map[*Profile]panel
}

// A panel computes rows × kernelCols elements of a kernel block of d > 0 features. x is packed in panels of
// kernelGroup rows, the last one filled up, and z is a panel of kernelCols columns, both scaled. A function
// that has no assembly is nil.
type panel struct {
	values func(rows, d int, x, z []float64, lddst int, variance float64, dst []float64)
	// slopes computes values and slopes. steep is the slope at distance 0.
	slopes func(rows, d int, x, z []float64, lddst int, variance, steep float64, dst, slope []float64)
}

// ahead returns the part of next, the next band's panel, that tile i of this band fetches. If earlier tiles
// fetch all of it, it returns hand, this band's panel.
func (s *kernelSet) ahead(next, hand []float64, i, k int) []float64 {
	at := i * k * s.rate
	if at >= min(len(next), s.nr*k) {
		return hand
	}
	return next[at:]
}
