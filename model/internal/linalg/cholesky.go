package linalg

import "math"

// Cholesky overwrites the lower triangle of the symmetric matrix a with its Cholesky factor L, a = L·Lᵀ, and the
// strictly upper triangle, which is not used, with zeros. It reports whether a is positive definite to working
// precision; if not (NaN and infinities included), the contents of a are undefined.
func (p *Pool) Cholesky(a Mat) bool {
	a.check("a", a.Rows, a.Rows)
	return p.cholesky(a)
}

// cholesky halves the matrix at a multiple of choleskyBlock. It factors the leading part, solves for the rows
// below, subtracts their product from the rest, and factors the rest.
func (p *Pool) cholesky(a Mat) bool {
	n := a.Rows
	if n <= choleskyBlock {
		mem := p.pieces.get(choleskyBlock * choleskyBlock)
		defer p.pieces.put(mem)
		return current.Load().factorBlock(a, mem)
	}
	h := roundUp(n/2, choleskyBlock)
	lead, below, rest := a.Slice(0, h, 0, h), a.Slice(h, n, 0, h), a.Slice(h, n, h, n)
	if !p.cholesky(lead) {
		return false
	}
	p.TrsmRightLowerTrans(lead, below)
	p.Syrk(false, -1, below, 1, rest)
	for i := range h {
		clear(a.Row(i)[h:])
	}
	return p.cholesky(rest)
}

// factorBlock factors a small matrix column by column. Row j of mem holds column j of the factor, from its
// diagonal element on; what is before that in the row has no meaning.
func (s *kernelSet) factorBlock(a Mat, mem []float64) bool {
	const width = choleskyBlock
	n := a.Rows
	clear(mem)
	s.packMembers(mem, width, a, 0, n, 0, n)
	for j := range n {
		col := mem[j*width : (j+1)*width]
		if s.combine != nil {
			s.combine(j, &mem[j], width, &mem[0], &col[0])
		} else {
			for k := range j {
				row := mem[k*width : (k+1)*width]
				s.axpy(-row[j], row[j:], col[j:])
			}
		}
		if !(col[j] > 0 && col[j] <= math.MaxFloat64) {
			return false
		}
		d := math.Sqrt(col[j])
		for i := j; i < n; i++ {
			col[i] /= d
		}
	}
	s.packMembers(a.Data, a.Stride, Mat{Rows: n, Cols: n, Stride: width, Data: mem}, 0, n, 0, n)
	for i := range n {
		clear(a.Row(i)[i+1:])
	}
	return true
}
