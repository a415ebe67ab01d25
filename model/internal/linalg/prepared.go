package linalg

// A Solver solves x·lᵀ = b for one lower triangular l and many b. It is [Pool.TrsmRightLowerTrans] with l
// packed once. Several goroutines may use it at once, also from inside [Pool.For].
type Solver struct {
	pool   *Pool
	packed triangle
}

// NewSolver packs l, which is square and lower triangular; its strictly upper part is not read. The solver
// keeps a copy, of about the size of l.
func (p *Pool) NewSolver(l Mat) *Solver {
	l.check("l", l.Rows, l.Rows)
	s := &Solver{pool: p, packed: triangle{set: current.Load(), n: l.Rows, trans: true}}
	s.packed.pack(p, l, make([]float64, s.packed.layout()))
	return s
}

// Solve overwrites b with b·l⁻ᵀ. It gives the same bits as [Pool.TrsmRightLowerTrans].
func (s *Solver) Solve(b Mat) {
	b.check("b", b.Rows, s.packed.n)
	if b.Rows == 0 || b.Cols == 0 {
		return
	}
	s.pool.solveChunks(&s.packed, b)
}

// A Multiplier multiplies many matrices by one lower triangular c. It is [Pool.TrmmRightLower] with c packed
// once. Several goroutines may use it at once, also from inside [Pool.For].
type Multiplier struct{ by product }

// NewMultiplier packs c, which is square and lower triangular; its strictly upper part is not used. The
// multiplier keeps a copy, of about twice the size of c's triangle.
func (p *Pool) NewMultiplier(c Mat) *Multiplier {
	c.check("c", c.Rows, c.Rows)
	q := product{pool: p, set: current.Load(), alpha: 1, b: source{m: c}, fresh: true, right: lowerTriangular, j1: c.Cols, k1: c.Rows}
	q.packed = make([]float64, q.panels()*q.set.nr*c.Rows)
	q.pack()
	q.b.m.Data = nil // packed
	return &Multiplier{q}
}

// Multiply sets dst = b·c. It gives the same bits as [Pool.TrmmRightLower].
func (m *Multiplier) Multiply(b, dst Mat) {
	n := m.by.j1
	b.check("b", b.Rows, n)
	dst.check("dst", b.Rows, n)
	if b.Rows == 0 || n == 0 {
		return
	}
	q := m.by
	q.a, q.c = source{m: b, byRow: true}, dst
	q.run(n)
}
