package linalg

// kernelRows is the number of rows of one piece of a kernel block.
const kernelRows = 64

// A kernelBlock is a call of [Pool.SEKernel].
type kernelBlock struct {
	pool     *Pool
	set      *kernelSet
	x, dst   Mat
	d        int
	inv      []float64
	variance float64
	panels   []float64 // z, kernelCols columns at a time
	cols     int
}

// SEKernel computes
//
//	dst[i, j] = variance·exp(−½ Σ_k ((x[i,k] − z[j,k])·invScale[k])²)
//
// from direct differences, so that nothing cancels: with r² the sum and d its length,
// the relative error is at most γ_{d+4}·r²/2 + 4u, u = 2⁻⁵³, hence the absolute error
// at most variance·((d+4)/e + 4)·u, whatever the data, apart from underflow. A NaN in
// either row gives NaN; an infinite distance gives 0. An element depends on its two
// rows alone.
func (p *Pool) SEKernel(x, z Mat, invScale []float64, variance float64, dst Mat) {
	d := len(invScale)
	x.check("x", x.Rows, d)
	z.check("z", z.Rows, d)
	dst.check("dst", x.Rows, z.Rows)
	if x.Rows == 0 || z.Rows == 0 {
		return
	}
	if d == 0 {
		for i := range dst.Rows {
			row := dst.Row(i)
			for j := range row {
				row[j] = variance
			}
		}
		return
	}
	buf := p.calls.take()
	defer p.calls.put(buf)
	set := current.Load()
	buf.kernel = kernelBlock{
		pool: p, set: set, x: x, dst: dst, d: d, inv: invScale, variance: variance, cols: set.kernelCols,
		panels: buf.get(roundUp(z.Rows, set.kernelCols) * d),
	}
	b := &buf.kernel
	set.packAll(b.panels, b.cols, source{m: z, byRow: true}, 0, z.Rows, 0, d)
	p.run((x.Rows+kernelRows-1)/kernelRows, b)
}

func (b *kernelBlock) run(piece int) {
	i0 := piece * kernelRows
	rows := min(kernelRows, b.x.Rows-i0)
	x := b.x.Data[i0*b.x.Stride:]
	n := b.dst.Cols
	for j := 0; j < n; j += b.cols {
		z := b.panels[j*b.d:]
		if j+b.cols <= n {
			b.set.kernel(rows, b.d, x, b.x.Stride, z, b.inv, b.dst.Stride, b.variance, b.dst.Data[i0*b.dst.Stride+j:])
			continue
		}
		b.lastColumns(i0, rows, j, z)
	}
}

// lastColumns computes less than a whole panel.
func (b *kernelBlock) lastColumns(i0, rows, j int, z []float64) {
	buf := b.pool.pieces.take()
	defer b.pool.pieces.put(buf)
	out := buf.get(rows * b.cols)
	b.set.kernel(rows, b.d, b.x.Data[i0*b.x.Stride:], b.x.Stride, z, b.inv, b.cols, b.variance, out)
	for i := range rows {
		copy(b.dst.Row(i0 + i)[j:], out[i*b.cols:(i+1)*b.cols])
	}
}
