package linalg

// diagonalBlock is the number of columns that a triangular solve takes at a time, by substitution. It divides kBlock.
// The computed solution x of x·lᵀ = b has, row by row, a residual |b − x·lᵀ| ≤ γ_{n+3}·|x|·|l|ᵀ, whatever the
// condition of l: every element is a sum in some order, and Higham (2002), theorem 8.5, holds for any order.
const diagonalBlock = 24

// zeroStep is the grain with which products omit the zeros of triangles. It is a multiple of every nr, so that
// a NaN spreads equally far in all sets.
const zeroStep = 24

// A triangle is a lower triangular matrix l, packed for solving x·lᵀ = b (if trans is set) or x·l = b, for any
// number of rows of b.
type triangle struct {
	set      *kernelSet
	n        int // rows of l
	trans    bool
	offdiag  []float64 // the panels of each block of columns, without the diagonal block
	offsets  []int     // where each block begins in offdiag
	diagonal []float64 // the diagonal blocks, for substitution
}

// blocks returns the number of blocks of columns.
func (t *triangle) blocks() int { return (t.n + diagonalBlock - 1) / diagonalBlock }

// cols returns the columns [j0, j1) of block b.
func (t *triangle) cols(b int) (j0, j1 int) {
	return b * diagonalBlock, min((b+1)*diagonalBlock, t.n)
}

// steps returns the columns [k0, k1) of x that must be solved before block b, and enter it.
func (t *triangle) steps(b int) (k0, k1 int) {
	j0, j1 := t.cols(b)
	if t.trans {
		return 0, j0
	}
	return j1, t.n
}

// blockCoefficients is the number of elements of a packed diagonal block.
const blockCoefficients = diagonalBlock * (diagonalBlock + 1) / 2

// layout sets the offsets, and returns the number of elements that pack needs.
func (t *triangle) layout() (size int) {
	t.offsets = make([]int, t.blocks()+1)
	for b := range t.blocks() {
		k0, k1 := t.steps(b)
		t.offsets[b+1] = t.offsets[b] + diagonalBlock*(k1-k0)
	}
	return t.offsets[t.blocks()] + t.blocks()*blockCoefficients
}

// pack packs l into mem, which has the size that layout returned.
func (t *triangle) pack(p *Pool, l Mat, mem []float64) {
	size := t.offsets[t.blocks()]
	t.offdiag, t.diagonal = mem[:size], mem[size:]
	p.For(t.blocks(), func(b int) {
		j0, j1 := t.cols(b)
		k0, k1 := t.steps(b)
		t.set.packAll(t.offdiag[t.offsets[b]:], t.set.nr, source{m: l, byRow: t.trans}, j0, j1, k0, k1)
		t.packDiagonal(l, b)
	})
}

// packDiagonal packs the elements of a diagonal block in the order of substitution.
func (t *triangle) packDiagonal(l Mat, b int) {
	j0, j1 := t.cols(b)
	dst := t.diagonal[b*blockCoefficients:]
	for s := range j1 - j0 {
		if t.trans {
			copy(dst, l.Row(j0 + s)[j0:j0+s])
		} else {
			for k := range s {
				dst[k] = l.Data[(j1-1-k)*l.Stride+j1-1-s]
			}
		}
		i := j0 + s
		if !t.trans {
			i = j1 - 1 - s
		}
		dst[s] = 1 / l.Data[i*l.Stride+i]
		dst = dst[s+1:]
	}
}

// solve overwrites x, which must have few enough rows to stay in cache, with the solution. Solved columns stay
// packed, since they are the left operand of all that follows, and are unpacked at the end.
func (t *triangle) solve(p *Pool, x Mat) {
	rows := roundUp(x.Rows, t.set.mr)
	s := solution{triangle: t, x: x, rows: rows, packed: p.pieces.get(rows * t.n)}
	defer p.pieces.put(s.packed)
	n := t.blocks()
	for i := range n {
		b := i
		if !t.trans {
			b = n - 1 - i
		}
		s.subtract(b)
		s.divide(b)
	}
	s.unpack()
}

// A solution is the state of solving x·lᵀ = b or x·l = b for some rows.
type solution struct {
	*triangle
	x      Mat
	rows   int       // of x, rounded up to whole panels
	packed []float64 // solved columns: for each kBlock of them, panels of rows
}

// panel returns the packed panel of the rows that begin at i, from column k on, and the number of columns that
// are packed together.
func (s *solution) panel(i, k int) (panel []float64, steps int) {
	k0 := k / kBlock * kBlock
	steps = min(kBlock, s.n-k0)
	return s.packed[k0*s.rows+i*steps+(k-k0)*s.set.mr:], steps
}

// subtract subtracts the solved columns, times l, from block b of x.
func (s *solution) subtract(b int) {
	mr, nr := s.set.mr, s.set.nr
	j0, j1 := s.cols(b)
	ka, kb := s.steps(b)
	panel := s.offdiag[s.offsets[b]:]
	for j := j0; j < j1; j += nr {
		for first := ka; first < kb; {
			steps := min((first/kBlock+1)*kBlock, kb) - first
			right := panel
			panel = panel[steps*nr:]
			next := panel
			if first+steps == kb && j+nr >= j1 {
				next = s.after(b)
			}
			for i := 0; i < s.x.Rows; i += mr {
				left, _ := s.panel(i, first)
				s.set.gemm(steps, -1, left, right, s.x.Data[i*s.x.Stride+j:], s.x.Stride,
					min(mr, s.x.Rows-i), min(nr, j1-j), false, s.set.ahead(next, right, i/mr, steps))
			}
			first += steps
		}
	}
}

// after returns the panels of the block that is solved after b; of the first if b is the last.
func (s *solution) after(b int) []float64 {
	n := s.blocks()
	if s.trans {
		return s.offdiag[s.offsets[(b+1)%n]:]
	}
	return s.offdiag[s.offsets[(b+n-1)%n]:]
}

// divide packs block b of x, and solves it with the diagonal block.
func (s *solution) divide(b int) {
	mr := s.set.mr
	j0, j1 := s.cols(b)
	for i := 0; i < s.x.Rows; i += mr {
		panel, _ := s.panel(i, j0)
		s.set.pack(panel, mr, source{m: s.x, byRow: true}, i, min(i+mr, s.x.Rows), j0, j1)
	}
	panels, steps := s.panel(0, j0)
	s.set.substitute(j1-j0, s.rows/mr, steps*mr, s.diagonal[b*blockCoefficients:], panels, !s.trans)
}

// unpack writes the solution to x.
func (s *solution) unpack() {
	mr := s.set.mr
	for k := 0; k < s.n; k += kBlock {
		for i := 0; i < s.x.Rows; i += mr {
			panel, steps := s.panel(i, k)
			rows := min(mr, s.x.Rows-i)
			s.set.packMembers(s.x.Data[i*s.x.Stride+k:], s.x.Stride, Mat{Rows: steps, Cols: rows, Stride: mr, Data: panel}, 0, steps, 0, rows)
		}
	}
}
