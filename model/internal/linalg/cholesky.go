package linalg

import "math"

// Cholesky overwrites the lower triangle of the symmetric matrix a with its Cholesky
// factor L, a = L·Lᵀ, and the strictly upper triangle, which is not used, with zeros.
// It reports whether a is positive definite to working precision; if not (NaN and
// infinities included), the contents of a are undefined.
func (p *Pool) Cholesky(a Mat) bool {
	a.check("a", a.Rows, a.Rows)
	if a.Rows == 0 {
		return true
	}
	buf := p.calls.take()
	defer p.calls.put(buf)
	blocks := (a.Rows + diagonalBlock - 1) / diagonalBlock
	f := factorization{pool: p, set: current.Load(), inverses: buf.get((blocks + 1) * diagonalBlock * diagonalBlock)}
	return f.factor(a, 0)
}

// A factorization is a Cholesky factor in the making. It keeps the inverses of the
// diagonal blocks, of which the solves need each several times, and one block of
// scratch behind them.
type factorization struct {
	pool     *Pool
	set      *kernelSet
	inverses []float64
}

// inverse returns the place of a block's inverse, and what follows.
func (f *factorization) inverse(block int) []float64 {
	return f.inverses[block*diagonalBlock*diagonalBlock:]
}

// factor halves the matrix, whose first diagonal block has the given number, at a
// multiple of diagonalBlock: the factor of the leading part, a solve for the rows
// below, and the factor of what the product of these leaves.
func (f *factorization) factor(a Mat, block int) bool {
	n := a.Rows
	if n <= diagonalBlock {
		return f.factorBlock(a, block)
	}
	h := (n/2 + diagonalBlock - 1) / diagonalBlock * diagonalBlock
	lead, below, rest := a.Slice(0, h, 0, h), a.Slice(h, n, 0, h), a.Slice(h, n, h, n)
	if !f.factor(lead, block) {
		return false
	}
	f.solve(lead, below, block)
	f.pool.Syrk(false, -1, below, 1, rest)
	for i := range h {
		clear(a.Row(i)[h:])
	}
	return f.factor(rest, block+h/diagonalBlock)
}

// solve overwrites b with b·l⁻ᵀ, where the inverses of l's diagonal blocks are known.
func (f *factorization) solve(l, b Mat, block int) {
	buf := f.pool.calls.take()
	defer f.pool.calls.put(buf)
	buf.pack = packTriangle{triangle: triangle{set: f.set, l: l, trans: true}, pool: f.pool}
	t := &buf.pack.triangle
	t.layout(buf, f.inverse(block))
	f.pool.run(t.blocks(), &buf.pack)
	f.pool.solveChunks(t, b)
}

// factorBlock factors a small matrix column by column, and inverts the factor. The
// columns are kept as rows of scratch: column j is what the earlier columns leave of
// a's, divided by a root. What stands in a row before its own diagonal is of no
// account.
func (f *factorization) factorBlock(a Mat, block int) bool {
	const width = diagonalBlock
	n := a.Rows
	mem := f.inverses[len(f.inverses)-width*width:]
	clear(mem)
	f.set.packMembers(mem, width, a, 0, n, 0, n)
	for j := range n {
		col := mem[j*width : (j+1)*width]
		f.set.combine(j, mem[j:], width, mem, col)
		if !(col[j] > 0 && col[j] <= math.MaxFloat64) {
			return false
		}
		d := math.Sqrt(col[j])
		for i := j; i < n; i++ {
			col[i] /= d
		}
	}
	f.set.packMembers(a.Data, a.Stride, Mat{Rows: n, Cols: n, Stride: width, Data: mem}, 0, n, 0, n)
	for i := range n {
		clear(a.Row(i)[i+1:])
	}
	f.set.packInverse(f.inverse(block), a, true, mem)
	return true
}
