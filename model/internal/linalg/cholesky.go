package linalg

import "math"

// Cholesky overwrites the lower triangle of the symmetric matrix a with its
// Cholesky factor L, a = L·Lᵀ, and the strictly upper triangle, which is not used,
// with zeros. It reports whether a is positive definite to working precision; if
// not (NaN and infinities included), the contents of a are undefined.
func (p *Pool) Cholesky(a Mat) bool {
	a.check("a", a.Rows, a.Rows)
	return p.cholesky(a)
}

// cholesky halves the matrix at a multiple of diagonalBlock: the factor of the leading block, a
// solve for the rows below, and the factor of what the product of these leaves.
func (p *Pool) cholesky(a Mat) bool {
	n := a.Rows
	if n <= diagonalBlock {
		buf := p.pieces.take()
		defer p.pieces.put(buf)
		return current.Load().choleskyBlock(a, buf.get(diagonalBlock*diagonalBlock))
	}
	h := (n/2 + diagonalBlock - 1) / diagonalBlock * diagonalBlock
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

// choleskyBlock factors a small matrix column by column. The columns of the factor are
// kept as rows of mem: column j is what the earlier columns leave of a's, divided by a root.
func (s *kernelSet) choleskyBlock(a Mat, mem []float64) bool {
	const width = diagonalBlock
	n := a.Rows
	clear(mem)
	for i := range n {
		for j, v := range a.Row(i)[:i+1] {
			mem[j*width+i] = v
		}
	}
	for j := range n {
		col := mem[j*width : (j+1)*width]
		s.combine(j, mem[j:], width, mem, col)
		if !(col[j] > 0 && col[j] <= math.MaxFloat64) {
			return false
		}
		d := math.Sqrt(col[j])
		for i := j; i < n; i++ {
			col[i] /= d
		}
	}
	for i := range n {
		row := a.Row(i)
		clear(row[i+1:])
		for j := range row[:i+1] {
			row[j] = mem[j*width+i]
		}
	}
	return true
}
