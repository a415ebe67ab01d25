package linalg

import "fmt"

// Exp sets dst[i] = exp(x[i]). The error is proven to be at most 2·2⁻⁵³ of the true value; measured on 12·10⁶ random
// points it is 1.02 units in its last place, subnormal ones included. exp(±0) = 1, exp(+Inf) = +Inf, exp(−Inf) = 0,
// exp(NaN) = NaN; overflow gives +Inf, underflow 0. dst and x have the same length and may be the same slice.
func Exp(dst, x []float64) {
	if n := sameLength("exp", dst, x); n > 0 {
		current.Load().exp(dst, x)
	}
}

// NormCDF sets dst[i] = Φ(x[i]), the standard normal distribution function. The error is proven to be at most
// 7·2⁻⁵³, and in the left tail at most 16·2⁻⁵³ of the true value; measured on 12·10⁶ random points in [−38.6,
// 9] it is 3.9 units in the last place. Φ(±0) = ½, Φ(+Inf) = 1, Φ(−Inf) = 0, Φ(NaN) = NaN. dst and x have the
// same length and may be the same slice.
func NormCDF(dst, x []float64) {
	if n := sameLength("cdf", dst, x); n > 0 {
		current.Load().cdf(dst, x)
	}
}

// NormCDFPDF sets cdf[i] = Φ(x[i]), with the same bits as [NormCDF], and pdf[i] = φ(x[i]) =
// exp(−x[i]²/2)/√(2π), the standard normal density. The error of φ is proven to be at most 4·2⁻⁵³ of the true
// value; measured on 8·10⁶ random points it is 2.2 units in its last place. φ(±Inf) = 0, φ(NaN) = NaN. All
// three slices have the same length; one of the results may be x itself.
func NormCDFPDF(cdf, pdf, x []float64) {
	n := sameLength("cdf", cdf, x)
	if sameLength("pdf", pdf, x); n > 0 {
		current.Load().cdfPDF(cdf, pdf, x)
	}
}

func sameLength(what string, dst, x []float64) int {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("linalg: %s: %d results of %d values", what, len(dst), len(x)))
	}
	return len(x)
}
