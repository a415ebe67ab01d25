package linalg

import "fmt"

const (
	// chunkRows is the number of rows of the left operand that are packed at a time: with kBlock steps they fill three
	// quarters of a level-2 cache of 1 MB. The more rows, the less often the right operand is read from farther memory.
	chunkRows = 256
	// lowerChunkRows replaces chunkRows for lower triangles, which need more chunks for even shares.
	lowerChunkRows = 128
	// slabCols is the number of columns of the right operand packed at a time.
	slabCols = 2016
	// packedElements is the number of elements of the right operand that are packed before use, though at least
	// one block of k: they fill a part of a level-3 cache, so that workers seldom wait for each other.
	packedElements = 1 << 20
	// serialWork is the number of multiply-adds below which sharing does not pay.
	serialWork = 1 << 17
)

// A product is c = alpha·a·b + beta·c for one slab of columns and some blocks of k. Workers wait for each other
// between products.
type product struct {
	pool  *Pool
	set   *kernelSet
	alpha float64
	a, b  source
	c     Mat
	fresh bool // the first block of k overwrites c instead of adding to it
	lower bool // compute only c's lower triangle
	right shape
	// leftUpper says that a is upper triangular, with zeros below: row i has only the steps from k = i on.
	leftUpper bool

	j0, j1 int       // slab of columns [j0, j1)
	k0, k1 int       // steps [k0, k1)
	packed []float64 // operand b, block by block of kBlock steps
}

// A shape says which steps k enter column j of a right operand.
type shape int8

const (
	square          shape = iota
	lowerTriangular       // from k = j on
	upperTriangular       // up to k = j
)

// multiply computes the product q over k steps, slab by slab.
func (p *Pool) multiply(q product, k int) {
	n := q.c.Cols
	if q.c.Rows == 0 || n == 0 || k == 0 {
		return
	}
	q.pool, q.set = p, current.Load()
	for q.j0 = 0; q.j0 < n; q.j0 = q.j1 {
		q.j1 = min(q.j0+slabCols, n)
		width := q.panels() * q.set.nr
		steps := max(packedElements/(width*kBlock), 1) * kBlock
		mem := p.calls.get(width * min(k, steps))
		for q.k0 = 0; q.k0 < k; q.k0 = q.k1 {
			q.k1 = min(q.k0+steps, k)
			q.packed = mem[:width*(q.k1-q.k0)]
			q.pack()
			q.run(k)
		}
		p.calls.put(mem)
	}
}

// panels returns the number of panels of b.
func (q *product) panels() int { return (q.j1 - q.j0 + q.set.nr - 1) / q.set.nr }

// blocks returns the number of blocks of k.
func (q *product) blocks() int { return (q.k1 - q.k0 + kBlock - 1) / kBlock }

// block returns block i of k as a product of its own.
func (q product) block(i int) product {
	width, from := q.panels()*q.set.nr, i*kBlock
	to := min(from+kBlock, q.k1-q.k0)
	q.packed = q.packed[width*from : width*to]
	q.k0, q.k1 = q.k0+from, q.k0+to
	return q
}

// pack packs operand b into q.packed.
func (q product) pack() {
	groups := (q.panels() + packGroup - 1) / packGroup
	q.pool.For(groups*q.blocks(), func(i int) {
		block := q.block(i / groups)
		block.packPanels(i % groups * packGroup)
	})
}

// run computes c from the packed steps. The last chunk of rows comes first, since it takes longest in a lower
// triangle. steps is the number of steps of the whole product.
func (q product) run(steps int) {
	m := q.c.Rows
	pieces := q.pool.pieceCount(m, q.c.Cols, steps, q.lower)
	chunk := roundUp((m+pieces-1)/pieces, q.set.mr)
	pieces = (m + chunk - 1) / chunk
	q.pool.For(pieces, func(i int) {
		i0 := (pieces - 1 - i) * chunk
		i1 := min(i0+chunk, m)
		mem := q.pool.pieces.get(roundUp(i1-i0, q.set.mr)*min(kBlock, q.k1-q.k0) + q.set.mr*q.set.nr)
		defer q.pool.pieces.put(mem)
		for b := range q.blocks() {
			block := q.block(b)
			block.rows(mem, i0, i1)
		}
	})
}

// pieceCount returns the number of pieces into which the rows of an m×n×k product are divided.
func (p *Pool) pieceCount(m, n, k int, lower bool) int {
	most := chunkRows
	if lower {
		most = lowerChunkRows
	}
	pieces := (m + most - 1) / most
	if m*n*k >= serialWork {
		pieces = roundUp(pieces, p.workers)
	}
	return pieces
}

// steps returns the steps k in [from, to) of q at which the panel of columns at j may be nonzero; none if from ≥ to.
func (q *product) steps(j int) (from, to int) {
	from, to = q.k0, q.k1
	switch q.right {
	case square:
	case lowerTriangular:
		from = max(from, j/zeroStep*zeroStep)
	case upperTriangular:
		to = min(to, (j/zeroStep+1)*zeroStep)
	}
	return from, to
}

// firstStep returns the first step k, of any block, at which both operands may be nonzero for the tile at (i, j).
func (q *product) firstStep(i, j int) int {
	first := 0
	if q.right == lowerTriangular {
		first = j / zeroStep * zeroStep
	}
	if q.leftUpper {
		first = max(first, i/zeroStep*zeroStep)
	}
	return first
}

// packGroup is the number of panels that a worker packs at a time.
const packGroup = 8

// packPanels packs the group of panels of b that begins at first.
func (q *product) packPanels(first int) {
	stride := q.b.stride(q.k1 - q.k0)
	for k := q.k0; k < q.k1; k += stride {
		for panel := first; panel < min(first+packGroup, q.panels()); panel++ {
			q.packPanel(panel, k, min(k+stride, q.k1))
		}
	}
}

// packPanel packs steps [k0, k1) of one panel.
func (q *product) packPanel(i, k0, k1 int) {
	nr := q.set.nr
	j := q.j0 + i*nr
	from, to := q.steps(j)
	from, to = max(k0, from), min(k1, to)
	if from >= to {
		return
	}
	panel := q.packed[(i*(q.k1-q.k0)+from-q.k0)*nr:]
	q.set.pack(panel, nr, q.b, j, min(j+nr, q.j1), from, to)
	for k := from; k < to && q.right != square; k++ {
		row := panel[(k-from)*nr : (k-from+1)*nr]
		if q.right == lowerTriangular {
			clear(row[min(max(k-j+1, 0), nr):])
		} else {
			clear(row[:min(max(k-j, 0), nr)])
		}
	}
}

// rows computes rows [i0, i1) of the slab. mem is scratch.
func (q *product) rows(mem []float64, i0, i1 int) {
	j1 := q.j1
	if q.lower {
		j1 = min(j1, i1)
	}
	if j1 <= q.j0 {
		return
	}
	tile, left := mem[:q.set.mr*q.set.nr], mem[q.set.mr*q.set.nr:]
	q.set.packAll(left, q.set.mr, q.a, i0, i1, q.k0, q.k1)
	for j := q.j0; j < j1; j += q.set.nr {
		q.tiles(left, tile, i0, i1, j, min(j+q.set.nr, j1))
	}
}

// panel returns the packed panel of the columns from j on, with the steps that may be nonzero. It is nil beyond
// the slab.
func (q *product) panel(j int) []float64 {
	from, to := q.steps(j)
	if j >= q.j1 || from >= to {
		return nil
	}
	first := (j-q.j0)/q.set.nr*(q.k1-q.k0) - q.k0
	return q.packed[(first+from)*q.set.nr : (first+to)*q.set.nr]
}

// tiles computes one band of tiles: rows [i0, i1), columns [j, j1). tile is scratch.
func (q *product) tiles(left, tile []float64, i0, i1, j, j1 int) {
	mr, nr := q.set.mr, q.set.nr
	panel, next := q.panel(j), q.panel(j+nr)
	from, to := q.steps(j)
	first := i0
	if q.lower && j > i0 {
		first += (j - i0) / mr * mr
	}
	for i := first; i < i1; i += mr {
		begin := q.firstStep(i, j)
		k := max(from, begin)
		if k >= to {
			continue
		}
		a, b := left[(i-i0)*(q.k1-q.k0)+(k-q.k0)*mr:], panel[(k-from)*nr:]
		rows, store := min(mr, i1-i), q.fresh && begin >= q.k0
		if q.lower && i < j1-1 {
			q.diagonalTile(tile, to-k, a, b, i, i+rows, j, j1, store)
			continue
		}
		c := q.c.Data[i*q.c.Stride+j:]
		q.set.gemm(to-k, q.alpha, a, b, c, q.c.Stride, rows, j1-j, store, q.set.ahead(next, b, (i-first)/mr, to-k))
	}
}

// diagonalTile computes the part of a tile that lies in c's lower triangle. It rounds as the micro-kernel does.
func (q *product) diagonalTile(tile []float64, steps int, a, b []float64, i0, i1, j0, j1 int, store bool) {
	nr := q.set.nr
	for i := i0; i < i1; i++ {
		if i >= j0 && !store {
			copy(tile[(i-i0)*nr:(i-i0+1)*nr], q.c.Row(i)[j0:min(j1, i+1)])
		}
	}
	q.set.gemm(steps, q.alpha, a, b, tile, nr, i1-i0, j1-j0, store, b)
	for i := max(i0, j0); i < i1; i++ {
		copy(q.c.Row(i)[j0:min(j1, i+1)], tile[(i-i0)*nr:(i-i0+1)*nr])
	}
}

// prescale multiplies c by beta, or only its lower triangle if lower is set. For beta = 0 it does nothing if
// steps will follow, because they overwrite c.
func prescale(beta float64, c Mat, lower bool, steps int) {
	if beta == 1 || (beta == 0 && steps > 0) {
		return
	}
	for i := range c.Rows {
		row := c.Row(i)
		if lower {
			row = row[:i+1]
		}
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

// Gemm computes c = alpha·op(a)·op(b) + beta·c, where op transposes if tA or tB is set. With beta = 0, c is not read.
func (p *Pool) Gemm(tA, tB bool, alpha float64, a, b Mat, beta float64, c Mat) {
	p.gemm(tA, tB, alpha, a, b, beta, c, false)
}

// GemmLower is [Pool.Gemm] for the lower triangle of a square c. It does not change the strictly upper triangle.
func (p *Pool) GemmLower(tA, tB bool, alpha float64, a, b Mat, beta float64, c Mat) {
	c.check("c", c.Rows, c.Rows)
	p.gemm(tA, tB, alpha, a, b, beta, c, true)
}

func (p *Pool) gemm(tA, tB bool, alpha float64, a, b Mat, beta float64, c Mat, lower bool) {
	m, k := a.dims(tA)
	kb, n := b.dims(tB)
	a.check("a", a.Rows, a.Cols)
	b.check("b", b.Rows, b.Cols)
	c.check("c", m, n)
	if k != kb {
		panic(fmt.Sprintf("linalg: gemm: inner dimensions %d and %d", k, kb))
	}
	if tA && n == 1 && k > 0 && !lower {
		prescale(beta, c, false, k)
		p.transTimesVector(alpha, a, b, beta == 0, c)
		return
	}
	p.multiplyAdd(product{alpha: alpha, a: source{m: a, byRow: !tA}, b: source{m: b, byRow: tB}, c: c, lower: lower}, beta, k)
}

// multiplyAdd computes the product over k steps, and adds beta·c.
func (p *Pool) multiplyAdd(q product, beta float64, k int) {
	prescale(beta, q.c, q.lower, k)
	q.fresh = beta == 0
	p.multiply(q, k)
}

// Syrk computes the lower triangle of c = alpha·a·aᵀ + beta·c, or of c = alpha·aᵀ·a + beta·c if tA is set. It
// does not change the strictly upper triangle. With beta = 0, c is not read.
func (p *Pool) Syrk(tA bool, alpha float64, a Mat, beta float64, c Mat) {
	p.GemmLower(tA, !tA, alpha, a, a, beta, c)
}

// SyrkWeighted computes the lower triangle of c = beta·c + Σ_r w[r]·a_rᵀ·a_r, where a_r is row r of a. Weights
// may be negative. It does not change the strictly upper triangle. With beta = 0, c is not read.
func (p *Pool) SyrkWeighted(w []float64, a Mat, beta float64, c Mat) {
	a.check("a", len(w), a.Cols)
	c.check("c", a.Cols, a.Cols)
	p.multiplyAdd(product{alpha: 1, a: source{m: a, w: w}, b: source{m: a}, c: c, lower: true}, beta, a.Rows)
}

// TrmmRightLower computes dst = b·c, where c is square and lower triangular; its strictly upper part is not used.
func (p *Pool) TrmmRightLower(c, b, dst Mat) {
	p.trmmRight(b, dst, c, product{b: source{m: c}, right: lowerTriangular})
}

// trmmRightLowerTrans computes dst = b·cᵀ, where c is square and lower triangular; its strictly upper part is not used.
func (p *Pool) trmmRightLowerTrans(c, b, dst Mat) {
	p.trmmRight(b, dst, c, product{b: source{m: c, byRow: true}, right: upperTriangular})
}

// trmmRight computes dst = b·op(c). q already has op(c) as its right operand.
func (p *Pool) trmmRight(b, dst, c Mat, q product) {
	b.check("b", b.Rows, b.Cols)
	c.check("c", b.Cols, b.Cols)
	dst.check("dst", b.Rows, b.Cols)
	q.alpha, q.a, q.c, q.fresh = 1, source{m: b, byRow: true}, dst, true
	p.multiply(q, b.Cols)
}

// Congruence overwrites the square, symmetric a with w·a·wᵀ, or with wᵀ·a·w if tW is set. The result is exactly
// symmetric. w is lower triangular, with zeros above its diagonal. scratch is as large as a.
func (p *Pool) Congruence(tW bool, w, a, scratch Mat) {
	n := a.Rows
	a.check("a", n, n)
	w.check("w", n, n)
	scratch.check("scratch", n, n)
	q := product{alpha: 1, c: a, fresh: true, lower: true}
	if tW {
		p.TrmmRightLower(w, a, scratch)
		q.a, q.leftUpper = source{m: w}, true
		q.b = source{m: scratch}
	} else {
		p.trmmRightLowerTrans(w, a, scratch) // (w·a)ᵀ
		q.a = source{m: scratch}
		q.b, q.right = source{m: w, byRow: true}, upperTriangular
	}
	p.multiply(q, n)
	p.Mirror(a)
}
