package linalg

// A Solver solves x·lᵀ = b for one lower triangular l and many b: [Pool.TrsmRightLowerTrans]
// with the packing of l and the inverses of its diagonal blocks done once. It
// may be used by several goroutines at once, and from inside [Pool.For].
type Solver struct {
	pool   *Pool
	packed packTriangle
}

// NewSolver packs l, square and lower triangular, whose strictly upper part is not
// read. The solver keeps a copy, of about the size of l.
func (p *Pool) NewSolver(l Mat) *Solver {
	l.check("l", l.Rows, l.Rows)
	s := &Solver{pool: p, packed: packTriangle{triangle: triangle{set: current.Load(), l: l, trans: true}, pool: p}}
	s.packed.layout(new(buffer), nil)
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

// A Multiplier multiplies many matrices by one lower triangular c:
// [Pool.TrmmRightLower] with the packing of c done once. It may be used by
// several goroutines at once, and from inside [Pool.For].
type Multiplier struct {
	pool  *Pool
	set   *kernelSet
	n     int
	right [][]float64 // for each block of k, the panels of c
}

// NewMultiplier packs c, square and lower triangular, whose strictly upper part is not
// used. The multiplier keeps a copy, of about the size of c.
func (p *Pool) NewMultiplier(c Mat) *Multiplier {
	c.check("c", c.Rows, c.Rows)
	m := &Multiplier{pool: p, set: current.Load(), n: c.Rows}
	q := product{set: m.set, b: source{m: c}, tri: true, j1: c.Cols}
	for q.k0 = 0; q.k0 < c.Rows; q.k0 = q.k1 {
		q.k1 = min(q.k0+kBlock, c.Rows)
		panels := (q.k1 + m.set.nr - 1) / m.set.nr // those further right are zero
		q.right = make([]float64, panels*m.set.nr*(q.k1-q.k0))
		m.right = append(m.right, q.right)
		p.run(panels, (*packRight)(&q))
	}
	return m
}

// Multiply sets dst = b·c, to the bits of [Pool.TrmmRightLower].
func (m *Multiplier) Multiply(b, dst Mat) {
	b.check("b", b.Rows, m.n)
	dst.check("dst", b.Rows, m.n)
	if b.Rows == 0 || m.n == 0 {
		return
	}
	buf := m.pool.calls.take()
	defer m.pool.calls.put(buf)
	pieces := m.pool.pieceCount(b.Rows, m.n, m.n)
	chunk := roundUp((b.Rows+pieces-1)/pieces, m.set.mr)
	buf.multiply = multiplyRows{Multiplier: m, b: b, dst: dst, chunk: chunk}
	m.pool.run((b.Rows+chunk-1)/chunk, &buf.multiply)
}

// multiplyRows is the product for one chunk of rows, through all blocks of k.
type multiplyRows struct {
	*Multiplier
	b, dst Mat
	chunk  int
}

func (r *multiplyRows) run(i int) {
	i0 := i * r.chunk
	i1 := min(i0+r.chunk, r.b.Rows)
	buf := r.pool.pieces.take()
	defer r.pool.pieces.put(buf)
	left := buf.get(roundUp(i1-i0, r.set.mr) * min(r.n, kBlock))
	buf.product = product{
		set: r.set, alpha: 1, a: source{m: r.b, byRow: true}, c: r.dst, fresh: true, tri: true, j1: r.n,
	}
	q := &buf.product
	for b := range r.right {
		q.k0, q.k1, q.right = b*kBlock, min((b+1)*kBlock, r.n), r.right[b]
		r.set.packAll(left, r.set.mr, q.a, i0, i1, q.k0, q.k1)
		for j := 0; j < r.n; j += r.set.nr {
			q.tiles(left, nil, i0, i1, j, min(j+r.set.nr, r.n))
		}
	}
}
