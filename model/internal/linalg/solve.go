package linalg

// solveRowsAtOnce is the number of rows solved together. Fewer would read a large packed triangle too often
// from farther memory; more would not stay in cache.
const solveRowsAtOnce = 64

// solveChunk returns the number of rows to solve at a time.
func (p *Pool) solveChunk(rows, n int) int {
	pieces := (rows + solveRowsAtOnce - 1) / solveRowsAtOnce
	if rows*n*n >= serialWork {
		pieces = roundUp(pieces, p.workers)
	}
	return roundUp((rows+pieces-1)/pieces, 8)
}

// solveRight overwrites b with b·l⁻¹, or with b·l⁻ᵀ if trans is set.
func (p *Pool) solveRight(l, b Mat, trans bool) {
	b.check("b", b.Rows, b.Cols)
	l.check("l", b.Cols, b.Cols)
	if b.Rows == 0 || b.Cols == 0 {
		return
	}
	t := &triangle{set: current.Load(), n: l.Rows, trans: trans}
	mem := p.calls.get(t.layout())
	defer p.calls.put(mem)
	t.pack(p, l, mem)
	p.solveChunks(t, b)
}

// solveChunks solves for all rows of b, a few at a time.
func (p *Pool) solveChunks(t *triangle, b Mat) {
	chunk := p.solveChunk(b.Rows, b.Cols)
	p.For((b.Rows+chunk-1)/chunk, func(i int) {
		t.solve(p, b.Slice(i*chunk, min((i+1)*chunk, b.Rows), 0, b.Cols))
	})
}

// TrsmRightLowerTrans overwrites b with b·l⁻ᵀ. l is square and lower triangular; its strictly upper part is not read.
func (p *Pool) TrsmRightLowerTrans(l, b Mat) { p.solveRight(l, b, true) }

// TrsmRightLower overwrites b with b·l⁻¹. l is square and lower triangular; its strictly upper part is not read.
func (p *Pool) TrsmRightLower(l, b Mat) { p.solveRight(l, b, false) }

// TrsmLeftLower overwrites b with l⁻¹·b. l is square and lower triangular; its strictly upper part is not read.
// A column of the result depends on that column of b and on l alone.
func (p *Pool) TrsmLeftLower(l, b Mat) { p.solveLeft(l, b, true) }

// TrsmLeftLowerTrans overwrites b with l⁻ᵀ·b. l is square and lower triangular; its strictly upper part is not
// read. A column of the result depends on that column of b and on l alone.
func (p *Pool) TrsmLeftLowerTrans(l, b Mat) { p.solveLeft(l, b, false) }

// solveLeft solves for the columns of b as rows of bᵀ: l⁻¹·b = (bᵀ·l⁻ᵀ)ᵀ.
func (p *Pool) solveLeft(l, b Mat, trans bool) {
	b.check("b", b.Rows, b.Cols)
	l.check("l", b.Rows, b.Rows)
	x := Mat{Rows: b.Cols, Cols: b.Rows, Stride: b.Rows, Data: p.calls.get(b.Cols * b.Rows)}
	defer p.calls.put(x.Data)
	p.Transpose(b, x)
	p.solveRight(l, x, trans)
	p.Transpose(x, b)
}
