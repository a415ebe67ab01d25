package linalg

import "math"

// SEKernel computes dst[i, j] = variance·exp(−½ Σ_k ((x[i,k] − z[j,k])·invScale[k])²),
// from direct differences.
func (p *Pool) SEKernel(x, z Mat, invScale []float64, variance float64, dst Mat) {
	x.check("x", x.Rows, len(invScale))
	z.check("z", z.Rows, len(invScale))
	dst.check("dst", x.Rows, z.Rows)
	p.For(x.Rows, func(i int) {
		xi, out := x.Row(i), dst.Row(i)
		for j := range out {
			s := 0.0
			for k, v := range z.Row(j) {
				t := (xi[k] - v) * invScale[k]
				s = math.FMA(t, t, s)
			}
			out[j] = variance * math.Exp(-0.5*s)
		}
	})
}

// Exp sets dst[i] = eˣ for x = x[i]. dst and x have the same length and may be the same
// slice.
func Exp(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Exp(v)
	}
}

// NormCDF sets dst[i] = Φ(x[i]), the standard normal distribution function. dst and
// x have the same length and may be the same slice.
func NormCDF(dst, x []float64) {
	for i, v := range x {
		dst[i] = 0.5 * math.Erfc(-v/math.Sqrt2)
	}
}

// NormPDF sets dst[i] = φ(x[i]), the standard normal density. dst and x have the
// same length and may be the same slice.
func NormPDF(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Exp(-0.5*v*v) / math.Sqrt(2*math.Pi)
	}
}

// NormCDFPDF sets cdf[i] = Φ(x[i]) and pdf[i] = φ(x[i]) with the bits of [NormCDF]
// and [NormPDF], in less time. All three have the same length; either result may
// be x itself.
func NormCDFPDF(cdf, pdf, x []float64) {
	for i, v := range x {
		cdf[i] = 0.5 * math.Erfc(-v/math.Sqrt2)
		pdf[i] = math.Exp(-0.5*v*v) / math.Sqrt(2*math.Pi)
	}
}
