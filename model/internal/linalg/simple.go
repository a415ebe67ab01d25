package linalg

import "math"

func scale(beta float64, row []float64) {
	for j := range row {
		if beta == 0 {
			row[j] = 0
		} else if beta != 1 {
			row[j] *= beta
		}
	}
}

// TrsmRightLowerTrans overwrites b with b·l⁻ᵀ. Of l, square and lower triangular, the
// strictly upper part is not read.
func (p *Pool) TrsmRightLowerTrans(l, b Mat) {
	l.check("l", b.Cols, b.Cols)
	p.For(b.Rows, func(r int) {
		x := b.Row(r)
		for j := range x {
			x[j] = (x[j] - Dot(l.Row(j)[:j], x[:j])) / l.Data[j*l.Stride+j]
		}
	})
}

// TrsmRightLower overwrites b with b·l⁻¹. Of l, square and lower triangular, the
// strictly upper part is not read.
func (p *Pool) TrsmRightLower(l, b Mat) {
	l.check("l", b.Cols, b.Cols)
	p.For(b.Rows, func(r int) {
		x := b.Row(r)
		for j := len(x) - 1; j >= 0; j-- {
			x[j] /= l.Data[j*l.Stride+j]
			Axpy(-x[j], l.Row(j)[:j], x[:j])
		}
	})
}

// TrsmLeftLower overwrites b with l⁻¹·b. Of l, square and lower triangular, the
// strictly upper part is not read.
func (p *Pool) TrsmLeftLower(l, b Mat) {
	l.check("l", b.Rows, b.Rows)
	for i := range b.Rows {
		for k := range i {
			Axpy(-l.Data[i*l.Stride+k], b.Row(k), b.Row(i))
		}
		for j := range b.Row(i) {
			b.Row(i)[j] /= l.Data[i*l.Stride+i]
		}
	}
}

// TrsmLeftLowerTrans overwrites b with l⁻ᵀ·b. Of l, square and lower triangular,
// the strictly upper part is not read.
func (p *Pool) TrsmLeftLowerTrans(l, b Mat) {
	l.check("l", b.Rows, b.Rows)
	for i := b.Rows - 1; i >= 0; i-- {
		for j := range b.Row(i) {
			b.Row(i)[j] /= l.Data[i*l.Stride+i]
		}
		for k := range i {
			Axpy(-l.Data[i*l.Stride+k], b.Row(i), b.Row(k))
		}
	}
}

// Cholesky overwrites the lower triangle of the symmetric matrix a with its
// Cholesky factor L, a = L·Lᵀ, and the strictly upper triangle, which is not read,
// with zeros. It reports whether a is positive definite to working precision; if
// not (NaN included), the contents of a are undefined.
func (p *Pool) Cholesky(a Mat) bool {
	a.check("a", a.Rows, a.Rows)
	for i := range a.Rows {
		for j := range i {
			ri, rj := a.Row(i), a.Row(j)
			ri[j] = (ri[j] - Dot(ri[:j], rj[:j])) / rj[j]
		}
		r := a.Row(i)
		d := r[i] - Dot(r[:i], r[:i])
		if !(d > 0 && d <= math.MaxFloat64) {
			return false
		}
		r[i] = math.Sqrt(d)
		scale(0, r[i+1:])
	}
	return true
}

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

// Dot returns Σ x[i]·y[i].
func Dot(x, y []float64) float64 {
	s := 0.0
	for i, v := range x {
		s = math.FMA(v, y[i], s)
	}
	return s
}

// Axpy computes y += alpha·x.
func Axpy(alpha float64, x, y []float64) {
	for i, v := range x {
		y[i] = math.FMA(alpha, v, y[i])
	}
}

// Sum returns Σ x[i].
func Sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}
