package linalg

import "fmt"

// Exp sets dst[i] = exp(x[i]). Measured on 12·10⁶ random points, the error is at most
// 1.02 units in the last place of the true value, subnormal ones included. exp(±0) = 1,
// exp(+Inf) = +Inf, exp(−Inf) = 0, exp(NaN) = NaN; overflow gives +Inf, underflow 0.
// dst and x have the same length and may be the same slice.
func Exp(dst, x []float64) {
	if n := sameLength("exp", dst, x); n > 0 {
		current.Load().exp(dst, x)
	}
}

// NormCDF sets dst[i] = Φ(x[i]), the standard normal distribution function. Measured on
// 12·10⁶ random points in [−38.6, 9], the error is at most 3.9 units in the last place
// of the true value, in the left tail as elsewhere. Φ(±0) = ½, Φ(+Inf) = 1, Φ(−Inf) =
// 0, Φ(NaN) = NaN. dst and x have the same length and may be the same slice.
func NormCDF(dst, x []float64) {
	if n := sameLength("cdf", dst, x); n > 0 {
		current.Load().cdf(dst, x)
	}
}

// NormCDFPDF sets cdf[i] = Φ(x[i]) with the bits of [NormCDF], and pdf[i] = φ(x[i]) =
// exp(−x[i]²/2)/√(2π), the standard normal density. Measured on 8·10⁶ random points, the
// error of φ is at most 2.2 units in the last place of the true value. φ(±Inf) = 0, φ(NaN)
// = NaN. All three have the same length; one of the results may be x itself.
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
