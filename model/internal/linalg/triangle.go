package linalg

// diagonalBlock is the number of columns that a triangular solve takes at a time. It
// divides kBlock. Diagonal blocks of this size are inverted: the computed solution x of
// x·lᵀ = b has, row by row, a residual |b − x·lᵀ| of the usual γ·|x|·|l|ᵀ plus, per
// block, γ·|b'|·|l_d⁻¹|·|l_d| with l_d the diagonal block: Du Croz and Higham (1992).
// The condition number of a block never exceeds that of l.
const diagonalBlock = 48

// zeroStep is the grain at which zeros of triangles are left out, a multiple of every
// nr, so that a NaN spreads equally far in all sets.
const zeroStep = 24

// A triangle is a lower triangular matrix l packed for solving x·lᵀ = b (trans) or x·l
// = b, for any number of rows of b.
type triangle struct {
	set      *kernelSet
	l        Mat
	trans    bool
	offdiag  []float64 // the panels of each block of columns, all steps beside the diagonal block
	offsets  []int     // of the blocks in offdiag
	diagonal []float64 // the inverses of the diagonal blocks, as panels
	inverted bool      // diagonal was there before
}

// blocks returns the number of blocks of columns.
func (t *triangle) blocks() int { return (t.l.Rows + diagonalBlock - 1) / diagonalBlock }

// cols returns the columns of block b.
func (t *triangle) cols(b int) (j0, j1 int) {
	return b * diagonalBlock, min((b+1)*diagonalBlock, t.l.Rows)
}

// steps returns the columns of x that enter into block b of a solution.
func (t *triangle) steps(b int) (k0, k1 int) {
	j0, j1 := t.cols(b)
	if t.trans {
		return 0, j0
	}
	return j1, t.l.Rows
}

// layout sets the offsets and takes the memory from buf, except that of the diagonal if
// that is given, with the inverses in place.
func (t *triangle) layout(buf *buffer, diagonal []float64) {
	const width = diagonalBlock
	t.offsets = buf.offsets[:0]
	size := 0
	for b := range t.blocks() {
		k0, k1 := t.steps(b)
		t.offsets = append(t.offsets, size)
		size += width * (k1 - k0)
	}
	buf.offsets = t.offsets
	if t.inverted = diagonal != nil; t.inverted {
		t.offdiag, t.diagonal = buf.get(size), diagonal
		return
	}
	mem := buf.get(size + t.blocks()*width*width)
	t.offdiag, t.diagonal = mem[:size], mem[size:]
}

// packTriangle is the packing of a triangle, block by block.
type packTriangle struct {
	triangle
	pool *Pool
}

func (p *packTriangle) run(b int) {
	j0, j1 := p.cols(b)
	k0, k1 := p.steps(b)
	p.set.packAll(p.offdiag[p.offsets[b]:], p.set.nr, source{m: p.l, byRow: p.trans}, j0, j1, k0, k1)
	if p.inverted {
		return
	}
	buf := p.pool.pieces.take()
	defer p.pool.pieces.put(buf)
	block := p.l.Slice(j0, j1, j0, j1)
	p.set.packInverse(p.diagonal[b*diagonalBlock*diagonalBlock:], block, p.trans, buf.get(diagonalBlock*diagonalBlock))
}

// packInverse packs the inverse of a diagonal block; mem is scratch.
func (s *kernelSet) packInverse(dst []float64, l Mat, trans bool, mem []float64) {
	n := l.Rows
	inv := Mat{Rows: n, Cols: n, Stride: diagonalBlock, Data: mem}
	s.invert(inv, l)
	s.packAll(dst, s.nr, source{m: inv, byRow: trans}, 0, n, 0, n)
}

// invert sets inv, of stride diagonalBlock, to l⁻¹, zeros above the diagonal included,
// row by row: row i is (eᵢ − Σ_{k<i} l_ik·row k)/l_ii.
func (s *kernelSet) invert(inv, l Mat) {
	for i := range l.Rows {
		row := inv.Data[i*diagonalBlock : (i+1)*diagonalBlock]
		clear(row)
		lrow := l.Row(i)
		s.combine(i, lrow, 1, inv.Data, row)
		for j := range row[:i] {
			row[j] /= lrow[i]
		}
		row[i] = 1 / lrow[i]
		clear(row[i+1:]) // of what a NaN may have left there
	}
}

// solveRows solves for one chunk of rows.
type solveRows struct {
	*triangle
	pool  *Pool
	b     Mat
	chunk int
}

func (s *solveRows) run(i int) {
	i0 := i * s.chunk
	i1 := min(i0+s.chunk, s.b.Rows)
	s.solve(s.pool, s.b.Slice(i0, i1, 0, s.b.Cols))
}

// solve overwrites x, few enough rows to stay in cache, with the solution. The solved
// columns are kept packed, since they are the left operand of all that follows.
func (t *triangle) solve(p *Pool, x Mat) {
	buf := p.pieces.take()
	defer p.pieces.put(buf)
	rows := roundUp(x.Rows, t.set.mr)
	mem := buf.get(rows * (t.l.Rows + diagonalBlock))
	s := solution{triangle: t, x: x, rows: rows, packed: mem[:rows*t.l.Rows], block: mem[rows*t.l.Rows:]}
	n := t.blocks()
	for i := range n {
		b := i
		if !t.trans {
			b = n - 1 - i
		}
		s.subtract(b)
		s.divide(b)
		if i < n-1 {
			s.keep(b)
		}
	}
}

// A solution is x·lᵀ = b or x·l = b in the making.
type solution struct {
	*triangle
	x      Mat
	rows   int       // of x, rounded up to whole panels
	packed []float64 // the solved columns: for each kBlock of them, panels of rows
	block  []float64 // one block of columns, as panels of rows
}

// subtract takes the solved columns, times l, from block b of x.
func (s *solution) subtract(b int) {
	mr, nr := s.set.mr, s.set.nr
	j0, j1 := s.cols(b)
	ka, kb := s.steps(b)
	for k0 := ka / kBlock * kBlock; k0 < kb; k0 += kBlock {
		k1 := min(k0+kBlock, s.l.Rows)
		first, last := max(k0, ka), min(k1, kb)
		if first >= last {
			continue
		}
		left := s.packed[k0*s.rows:]
		for j := j0; j < j1; j += nr {
			right := s.offdiag[s.offsets[b]+(j-j0)*(kb-ka)+(first-ka)*nr:]
			for i := 0; i < s.x.Rows; i += mr {
				a := left[i*(k1-k0)+(first-k0)*mr:]
				s.set.gemm(last-first, -1, a, right, s.x.Data[i*s.x.Stride+j:], s.x.Stride,
					min(mr, s.x.Rows-i), min(nr, j1-j), false)
			}
		}
	}
}

// divide multiplies block b of x by the inverse of the diagonal block.
func (s *solution) divide(b int) {
	mr, nr := s.set.mr, s.set.nr
	j0, j1 := s.cols(b)
	n := j1 - j0
	s.set.packAll(s.block, mr, source{m: s.x, byRow: true}, 0, s.x.Rows, j0, j1)
	for j := 0; j < n; j += nr {
		first, last := 0, min(j/zeroStep*zeroStep+zeroStep, n)
		if !s.trans {
			first, last = j/zeroStep*zeroStep, n
		}
		right := s.diagonal[b*diagonalBlock*diagonalBlock+j*n+first*nr:]
		for i := 0; i < s.x.Rows; i += mr {
			s.set.gemm(last-first, 1, s.block[i*n+first*mr:], right, s.x.Data[i*s.x.Stride+j0+j:], s.x.Stride,
				min(mr, s.x.Rows-i), min(nr, n-j), true)
		}
	}
}

// keep packs block b of x, now solved.
func (s *solution) keep(b int) {
	mr := s.set.mr
	j0, j1 := s.cols(b)
	k0 := j0 / kBlock * kBlock
	steps := min(kBlock, s.l.Rows-k0)
	for i := 0; i < s.x.Rows; i += mr {
		panel := s.packed[k0*s.rows+i*steps+(j0-k0)*mr:]
		s.set.pack(panel, mr, source{m: s.x, byRow: true}, i, min(i+mr, s.x.Rows), j0, j1)
	}
}
