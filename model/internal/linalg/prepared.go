package linalg

// A Solver solves x·lᵀ = b for one lower triangular l and many b: [Pool.TrsmRightLowerTrans] with
// l packed once. It may be used by several goroutines at once, and from inside [Pool.For].
type Solver struct {
	pool   *Pool
	packed packTriangle
}

// NewSolver packs l, square and lower triangular, whose strictly upper part is not
// read. The solver keeps a copy, of about the size of l.
func (p *Pool) NewSolver(l Mat) *Solver {
	l.check("l", l.Rows, l.Rows)
	s := &Solver{pool: p, packed: packTriangle{triangle: triangle{set: current.Load(), l: l, trans: true}, pool: p}}
	s.packed.layout(new(buffer))
	p.run(s.packed.blocks(), &s.packed)
	s.packed.l.Data = nil // everything is packed; only the size is still of use
	return s
}

// Solve overwrites b with b·l⁻ᵀ, to the bits of [Pool.TrsmRightLowerTrans].
func (s *Solver) Solve(b Mat) {
	b.check("b", b.Rows, s.packed.l.Rows)
	if b.Rows == 0 || b.Cols == 0 {
		return
	}
	s.pool.solveChunks(&s.packed.triangle, b)
}

// A Multiplier multiplies many matrices by one lower triangular c: [Pool.TrmmRightLower] with c
// packed once. It may be used by several goroutines at once, and from inside [Pool.For].
type Multiplier struct {
	pool *Pool
	c    batch
}

// NewMultiplier packs c, square and lower triangular, whose strictly upper part is not used. The
// multiplier keeps a copy, of about twice the size of c's triangle.
func (p *Pool) NewMultiplier(c Mat) *Multiplier {
	c.check("c", c.Rows, c.Rows)
	m := &Multiplier{pool: p}
	q := product{pool: p, set: current.Load(), alpha: 1, b: source{m: c}, fresh: true, right: lowerTriangular, j1: c.Cols}
	m.c.panels = (c.Cols + q.set.nr - 1) / q.set.nr
	m.c.fill(q, make([]float64, m.c.panels*q.set.nr*c.Rows), 0, c.Rows)
	p.run(m.c.packPieces(), (*packRight)(&m.c))
	for i := range m.c.blocks {
		m.c.blocks[i].b.m.Data = nil // packed
	}
	return m
}

// Multiply sets dst = b·c, to the bits of [Pool.TrmmRightLower].
func (m *Multiplier) Multiply(b, dst Mat) {
	n := 0
	if len(m.c.blocks) > 0 {
		n = m.c.blocks[0].j1
	}
	b.check("b", b.Rows, n)
	dst.check("dst", b.Rows, n)
	if b.Rows == 0 || n == 0 {
		return
	}
	buf := m.pool.calls.borrow()
	defer m.pool.calls.put(buf)
	t := &buf.batch
	t.blocks = append(t.blocks[:0], m.c.blocks...)
	for i := range t.blocks {
		t.blocks[i].a, t.blocks[i].c = source{m: b, byRow: true}, dst
	}
	pieces := m.pool.pieceCount(b.Rows, n, n, false)
	t.chunk = roundUp((b.Rows+pieces-1)/pieces, t.blocks[0].set.mr)
	m.pool.run((b.Rows+t.chunk-1)/t.chunk, (*tileRows)(t))
}
