package linalg

import "math"

// Gemm computes c = alpha·op(a)·op(b) + beta·c, where op transposes if tA or tB is
// set. With beta = 0, c is not read.
func (p *Pool) Gemm(tA, tB bool, alpha float64, a, b Mat, beta float64, c Mat) {
	m, k := a.dims(tA)
	kb, n := b.dims(tB)
	a.check("a", a.Rows, a.Cols)
	b.check("b", b.Rows, b.Cols)
	if k != kb {
		panic("linalg: gemm: inner dimensions differ")
	}
	c.check("c", m, n)
	at := func(i, l int) float64 {
		if tA {
			return a.Data[l*a.Stride+i]
		}
		return a.Data[i*a.Stride+l]
	}
	p.For(m, func(i int) {
		row := c.Row(i)
		scale(beta, row)
		if tB {
			for j := range row {
				s := 0.0
				for l := range k {
					s = math.FMA(at(i, l), b.Data[j*b.Stride+l], s)
				}
				row[j] = math.FMA(alpha, s, row[j])
			}
			return
		}
		for l := range k {
			Axpy(alpha*at(i, l), b.Row(l), row)
		}
	})
}

func scale(beta float64, row []float64) {
	for j := range row {
		if beta == 0 {
			row[j] = 0
		} else if beta != 1 {
			row[j] *= beta
		}
	}
}

// Syrk computes the lower triangle of c = alpha·a·aᵀ + beta·c, or of
// alpha·aᵀ·a + beta·c if tA is set. The strictly upper triangle is left alone. With
// beta = 0, c is not read.
func (p *Pool) Syrk(tA bool, alpha float64, a Mat, beta float64, c Mat) {
	n, k := a.dims(tA)
	c.check("c", n, n)
	at := func(i, l int) float64 {
		if tA {
			return a.Data[l*a.Stride+i]
		}
		return a.Data[i*a.Stride+l]
	}
	p.For(n, func(i int) {
		row := c.Row(i)[:i+1]
		scale(beta, row)
		for l := range k {
			x := alpha * at(i, l)
			for j := range row {
				row[j] = math.FMA(x, at(j, l), row[j])
			}
		}
	})
}

// SyrkWeighted computes the lower triangle of c = beta·c + Σ_r w[r]·a_rᵀ·a_r, where a_r is
// row r of a. Weights may be negative. The strictly upper triangle is left
// alone. With beta = 0, c is not read.
func (p *Pool) SyrkWeighted(w []float64, a Mat, beta float64, c Mat) {
	c.check("c", a.Cols, a.Cols)
	p.For(a.Cols, func(i int) {
		row := c.Row(i)[:i+1]
		scale(beta, row)
		for r := range a.Rows {
			Axpy(w[r]*a.Data[r*a.Stride+i], a.Row(r)[:i+1], row)
		}
	})
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

// TrmmRightLower computes dst = b·c, where c is square and lower triangular; its
// strictly upper part is not read.
func (p *Pool) TrmmRightLower(c, b, dst Mat) {
	c.check("c", b.Cols, b.Cols)
	dst.check("dst", b.Rows, b.Cols)
	p.For(b.Rows, func(r int) {
		out := dst.Row(r)
		scale(0, out)
		for k, x := range b.Row(r) {
			Axpy(x, c.Row(k)[:k+1], out[:k+1])
		}
	})
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

// InstructionSet names the set in use: "avx512", "avx2" or "portable".
func InstructionSet() string { return "portable" }
