//go:build !noasm

package linalg

import "golang.org/x/sys/cpu"

// available returns the sets that the processor can run, best first.
func available() []*kernelSet {
	var sets []*kernelSet
	x := cpu.X86
	hasAVX2 := x.HasAVX2 && x.HasFMA
	if hasAVX2 && x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512VL {
		sets = append(sets, &avx512)
	}
	if hasAVX2 {
		sets = append(sets, &avx2)
	}
	return append(sets, &portable)
}

var avx2 = kernelSet{
	name: "avx2",
	mr:   4,
	nr:   12,
	rate: 2,
	gemm: func(k int, alpha float64, a, b, c []float64, ldc, rows, cols int, store bool, ahead []float64) {
		gemmAVX2(k, alpha, &a[0], &b[0], &c[0], ldc, rows, cols, store, &ahead[0])
	},
	packTrans: func(k int, src []float64, ld int, dst []float64, stride int) {
		packTransAVX2(k, &src[0], ld, &dst[0], stride)
	},
	packRows: func(k int, src []float64, ld int, dst []float64, width int, w []float64) {
		var weights *float64
		if w != nil {
			weights = &w[0]
		}
		packRowsAVX2(k, &src[0], ld, &dst[0], width, weights)
	},
	axpy: func(alpha float64, x, y []float64) { axpyAVX2(len(x), alpha, &x[0], &y[0]) },
	substitute: func(n, count, panel int, coef, x []float64, backwards bool) {
		substitutePanels(substitute8AVX2, substitute4AVX2, substitute1AVX2, 4, n, count, panel, coef, x, backwards)
	},
	combine: combineAVX2,
	dot:     func(x, y []float64) float64 { return dotAVX2(len(x), &x[0], &y[0]) },
	sum:     func(x []float64) float64 { return sumAVX2(len(x), &x[0]) },
	exp:     func(dst, x []float64) { expAVX2(len(x), &dst[0], &x[0], &constants[0]) },
	cdf:     func(dst, x []float64) { cdfAVX2(len(x), &dst[0], &x[0], &constants[0]) },
	cdfPDF:  func(cdf, pdf, x []float64) { cdfPDFAVX2(len(x), &cdf[0], &pdf[0], &x[0], &constants[0]) },

	kernelCols: 8,
	panels: map[*Profile]panel{
		SquaredExponential: {values: valuesOf(kernelAVX2)},
		Matern32:           {values: valuesOf(matern32AVX2), slopes: slopesOf(matern32SlopeAVX2)},
		Matern52:           {values: valuesOf(matern52AVX2), slopes: slopesOf(matern52SlopeAVX2)},
	},
}

// avx512 uses functions of avx2 where eight lanes are no faster.
var avx512 = func() kernelSet {
	s := avx2
	s.name, s.mr, s.nr, s.rate, s.kernelCols = "avx512", 8, 24, 4, 16
	s.gemm = func(k int, alpha float64, a, b, c []float64, ldc, rows, cols int, store bool, ahead []float64) {
		gemmAVX512(k, alpha, &a[0], &b[0], &c[0], ldc, rows, cols, store, &ahead[0])
	}
	s.substitute = func(n, count, panel int, coef, x []float64, backwards bool) {
		substitutePanels(substitute8AVX512, substitute4AVX512, substitute1AVX512, 8, n, count, panel, coef, x, backwards)
	}
	s.exp = func(dst, x []float64) { expAVX512(len(x), &dst[0], &x[0], &constants[0]) }
	s.cdf = func(dst, x []float64) { cdfAVX512(len(x), &dst[0], &x[0], &constants[0]) }
	s.cdfPDF = func(cdf, pdf, x []float64) { cdfPDFAVX512(len(x), &cdf[0], &pdf[0], &x[0], &constants[0]) }
	s.panels = map[*Profile]panel{
		SquaredExponential: {values: valuesOf(kernelAVX512)},
		Matern32:           {values: valuesOf(matern32AVX512), slopes: slopesOf(matern32SlopeAVX512)},
		Matern52:           {values: valuesOf(matern52AVX512), slopes: slopesOf(matern52SlopeAVX512)},
	}
	return s
}()

// valuesOf and slopesOf make the functions of a [panel] from assembly.
func valuesOf(entry func(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)) func(int, int, []float64, []float64, int, float64, []float64) {
	return func(rows, d int, x, z []float64, lddst int, variance float64, dst []float64) {
		entry(rows, d, &x[0], &z[0], lddst, variance, &dst[0], &constants[0])
	}
}

func slopesOf(entry func(rows, d int, x, z *float64, lddst int, variance, steep float64, dst, slope, table *float64)) func(int, int, []float64, []float64, int, float64, float64, []float64, []float64) {
	return func(rows, d int, x, z []float64, lddst int, variance, steep float64, dst, slope []float64) {
		entry(rows, d, &x[0], &z[0], lddst, variance, steep, &dst[0], &slope[0], &constants[0])
	}
}

// substitutePanels solves eight panels at a time, then four, and the rest one by one.
func substitutePanels(eight, four, one func(n int, coef, x *float64, column, panel int), mr, n, count, panel int, coef, x []float64, backwards bool) {
	first, column := 0, mr
	if backwards {
		first, column = (n-1)*mr, -mr
	}
	i := 0
	for ; i+8 <= count; i += 8 {
		eight(n, &coef[0], &x[i*panel+first], column, panel)
	}
	if i+4 <= count {
		four(n, &coef[0], &x[i*panel+first], column, panel)
		i += 4
	}
	for ; i < count; i++ {
		one(n, &coef[0], &x[i*panel+first], column, panel)
	}
}

// The assembly. All calls go through the fields of a set, so that the compiler lets their arguments escape.

func gemmAVX512(k int, alpha float64, a, b, c *float64, ldc, rows, cols int, store bool, ahead *float64)
func gemmAVX2(k int, alpha float64, a, b, c *float64, ldc, rows, cols int, store bool, ahead *float64)
func packTransAVX2(k int, src *float64, ld int, dst *float64, stride int)
func packRowsAVX2(k int, src *float64, ld int, dst *float64, width int, w *float64)
func axpyAVX2(n int, alpha float64, x, y *float64)
func combineAVX2(n int, coef *float64, stride int, rows, y *float64)
func dotAVX2(n int, x, y *float64) float64
func sumAVX2(n int, x *float64) float64
func expAVX512(n int, dst, x, table *float64)
func cdfAVX512(n int, dst, x, table *float64)
func cdfPDFAVX512(n int, cdf, pdf, x, table *float64)
func kernelAVX512(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
func matern32AVX512(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
func matern52AVX512(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
func matern32SlopeAVX512(rows, d int, x, z *float64, lddst int, variance, steep float64, dst, slope, table *float64)
func matern52SlopeAVX512(rows, d int, x, z *float64, lddst int, variance, steep float64, dst, slope, table *float64)
func expAVX2(n int, dst, x, table *float64)
func cdfAVX2(n int, dst, x, table *float64)
func cdfPDFAVX2(n int, cdf, pdf, x, table *float64)
func kernelAVX2(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
func matern32AVX2(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
func matern52AVX2(rows, d int, x, z *float64, lddst int, variance float64, dst, table *float64)
func matern32SlopeAVX2(rows, d int, x, z *float64, lddst int, variance, steep float64, dst, slope, table *float64)
func matern52SlopeAVX2(rows, d int, x, z *float64, lddst int, variance, steep float64, dst, slope, table *float64)
func substitute8AVX512(n int, coef, x *float64, column, panel int)
func substitute4AVX512(n int, coef, x *float64, column, panel int)
func substitute1AVX512(n int, coef, x *float64, column, panel int)
func substitute8AVX2(n int, coef, x *float64, column, panel int)
func substitute4AVX2(n int, coef, x *float64, column, panel int)
func substitute1AVX2(n int, coef, x *float64, column, panel int)
