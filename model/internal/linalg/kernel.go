package linalg

import "math"

// kernelRows is the number of rows of one piece of a kernel block, and kernelGroup how
// many the set's kernel takes at a time.
const (
	kernelRows  = 64
	kernelGroup = 4
)

// A kernelBlock is a call of [Pool.SEKernel].
type kernelBlock struct {
	pool     *Pool
	set      *kernelSet
	x, dst   Mat
	origin   []float64 // what rows are taken relative to
	scale    []float64 // invScale/√2
	variance float64
	panels   []float64 // (z−origin)·scale, kernelCols columns at a time
}

// SEKernel computes, with s = invScale,
//
//	dst[i, j] = variance·exp(−r²/2),  r² = Σ_k ((x[i,k]−c[k])·s[k] − (z[j,k]−c[k])·s[k])²
//
// from direct differences of the rows scaled around c, the first row of z (0 where that
// is not finite): wherever the rows lie, only their distances count. Moving and scaling
// change an element x−c by a factor within γ_4 of 1; u = 2⁻⁵³. But for that, the
// relative error is at most γ_{d+2}·r²/2 + 4u, with d the length of the sum, so points
// that are the same have a kernel of variance and nothing cancels. The change moves r by
// at most γ_4·h, with h the length of the vector (|x[i,k]−c[k]| + |z[j,k]−c[k]|)·s[k],
// so the absolute error is at most variance·(0.61·γ_4·h + ((d+2)/e + 4)·u) to first
// order: rows should spread over no more than some thousand length scales. Values below
// 2⁻⁴⁹⁷·variance, 1e-150, become 0 or err by as much. A NaN in either row gives NaN; an
// infinite distance gives 0; scaled elements must not overflow. An element depends on
// its two rows and c alone, and not on their order.
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
	size := roundUp(z.Rows, set.kernelCols) * d
	scratch := buf.get(size + 2*d)
	buf.kernel = kernelBlock{
		pool: p, set: set, x: x, dst: dst, variance: variance, origin: scratch[size+d:], scale: scratch[size : size+d], panels: scratch[:size],
	}
	b := &buf.kernel
	for k, s := range invScale {
		b.scale[k] = s * math.Sqrt(0.5)
		b.origin[k] = z.Row(0)[k]
		if math.IsNaN(b.origin[k]) || math.IsInf(b.origin[k], 0) {
			b.origin[k] = 0
		}
	}
	b.pack(b.panels, set.kernelCols, z, 0, z.Rows)
	p.run((x.Rows+kernelRows-1)/kernelRows, b)
}

// pack puts rows [i0, i1) of m, moved and scaled, into panels of the given width.
func (b *kernelBlock) pack(panels []float64, width int, m Mat, i0, i1 int) {
	d := len(b.scale)
	b.set.packAll(panels, width, source{m: m, byRow: true}, i0, i1, 0, d)
	for ; i0 < i1; i0 += width {
		for k, c := range b.origin {
			row := panels[k*width : (k+1)*width]
			for i := range row {
				row[i] -= c
			}
		}
		b.set.packRows(d, panels, width, panels, width, b.scale)
		panels = panels[width*d:]
	}
}

func (b *kernelBlock) run(piece int) {
	buf := b.pool.pieces.take()
	defer b.pool.pieces.put(buf)
	i0 := piece * kernelRows
	rows, d, cols := min(kernelRows, b.x.Rows-i0), len(b.scale), b.set.kernelCols
	size := roundUp(rows, kernelGroup) * d
	scratch := buf.get(size + rows*cols)
	x, edge := scratch[:size], scratch[size:]
	b.pack(x, kernelGroup, b.x, i0, i0+rows)
	n := b.dst.Cols
	j := 0
	for ; j+cols <= n; j += cols {
		b.set.kernel(rows, d, x, b.panels[j*d:], b.dst.Stride, b.variance, b.dst.Data[i0*b.dst.Stride+j:])
	}
	if j == n {
		return
	}
	b.set.kernel(rows, d, x, b.panels[j*d:], cols, b.variance, edge)
	for i := range rows {
		copy(b.dst.Row(i0 + i)[j:], edge[i*cols:(i+1)*cols])
	}
}
