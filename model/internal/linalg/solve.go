package linalg

// solveRowsAtOnce is the number of rows solved together. Fewer would read a large packed triangle
// too often from afar; more would not stay in cache.
const solveRowsAtOnce = 64

// solveChunk returns the number of rows to solve at a time.
func (p *Pool) solveChunk(rows, n int) int {
	pieces := (rows + solveRowsAtOnce - 1) / solveRowsAtOnce
	if rows*n*n >= serialWork {
		pieces = roundUp(pieces, p.workers)
	}
	return roundUp((rows+pieces-1)/pieces, 8)
}

// prepare packs l into memory of buf.
func (p *Pool) prepare(l Mat, trans bool, buf *buffer) *triangle {
	buf.pack = packTriangle{triangle: triangle{set: current.Load(), l: l, trans: trans}, pool: p}
	t := &buf.pack.triangle
	t.layout(buf)
	p.run(t.blocks(), &buf.pack)
	return t
}

func (p *Pool) solveRight(l, b Mat, trans bool) {
	b.check("b", b.Rows, b.Cols)
	l.check("l", b.Cols, b.Cols)
	if b.Rows == 0 || b.Cols == 0 {
		return
	}
	buf := p.calls.borrow()
	defer p.calls.put(buf)
	p.solveChunks(p.prepare(l, trans, buf), b)
}

// solveChunks solves for all rows of b, a few at a time.
func (p *Pool) solveChunks(t *triangle, b Mat) {
	buf := p.calls.borrow()
	defer p.calls.put(buf)
	chunk := p.solveChunk(b.Rows, b.Cols)
	buf.rows = solveRows{triangle: t, pool: p, b: b, chunk: chunk}
	p.run((b.Rows+chunk-1)/chunk, &buf.rows)
}

// TrsmRightLowerTrans overwrites b with b·l⁻ᵀ. Of l, square and lower triangular, the
// strictly upper part is not read.
func (p *Pool) TrsmRightLowerTrans(l, b Mat) { p.solveRight(l, b, true) }

// TrsmRightLower overwrites b with b·l⁻¹. Of l, square and lower triangular, the
// strictly upper part is not read.
func (p *Pool) TrsmRightLower(l, b Mat) { p.solveRight(l, b, false) }

// TrsmLeftLower overwrites b with l⁻¹·b. Of l, square and lower triangular, the
// strictly upper part is not read. A column of the result depends on that column of b
// and on l alone.
func (p *Pool) TrsmLeftLower(l, b Mat) { p.solveLeft(l, b, true) }

// TrsmLeftLowerTrans overwrites b with l⁻ᵀ·b. Of l, square and lower triangular, the
// strictly upper part is not read. A column of the result depends on that column of b
// and on l alone.
func (p *Pool) TrsmLeftLowerTrans(l, b Mat) { p.solveLeft(l, b, false) }

// solveLeft solves for the columns of b as rows of bᵀ: l⁻¹·b = (bᵀ·l⁻ᵀ)ᵀ.
func (p *Pool) solveLeft(l, b Mat, trans bool) {
	b.check("b", b.Rows, b.Cols)
	l.check("l", b.Rows, b.Rows)
	if b.Rows == 0 || b.Cols == 0 {
		return
	}
	buf := p.calls.borrow()
	defer p.calls.put(buf)
	chunk := p.solveChunk(b.Cols, b.Rows)
	buf.cols = solveCols{triangle: p.prepare(l, trans, buf), pool: p, b: b, chunk: chunk}
	p.run((b.Cols+chunk-1)/chunk, &buf.cols)
}

// solveCols solves for one chunk of columns.
type solveCols struct {
	*triangle
	pool  *Pool
	b     Mat
	chunk int
}

func (s *solveCols) run(i int) {
	j0 := i * s.chunk
	j1 := min(j0+s.chunk, s.b.Cols)
	buf := s.pool.pieces.borrow()
	defer s.pool.pieces.put(buf)
	b := s.b.Slice(0, s.b.Rows, j0, j1)
	x := Mat{Rows: j1 - j0, Cols: b.Rows, Stride: b.Rows, Data: buf.get((j1 - j0) * b.Rows)}
	s.set.packMembers(x.Data, x.Stride, b, 0, b.Rows, 0, b.Cols)
	s.solve(s.pool, x)
	s.set.packMembers(b.Data, b.Stride, x, 0, x.Rows, 0, x.Cols)
}
