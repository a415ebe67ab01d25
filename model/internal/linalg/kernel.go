package linalg

import (
	"fmt"
	"math"
)

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
// from direct differences of the rows scaled around c, the origin (nil: 0): only their
// distances count, if c lies among them. With u = 2⁻⁵³, w the exact vector of the
// (x−z)·s/√2, and A the length of (|x−c|·s/√2) and that of (|z−c|·s/√2) added, the vector
// whose squares are summed is off by at most 4.2u|w| + 2.01uA, the sum by (d+1)u/2 of its
// root more, exp and the last product by 3.3u. As 2p·exp(−p²) < 0.86 and 2p²·exp(−p²) < 0.74,
// the absolute error is at most
//
//	variance·(0.87·2.01·A + 0.75·(4.2 + (d+1)/2) + 3.3)·u + variance·2⁻⁴⁰⁰
//
// so that rows should spread over no more than some thousand length scales. If u·A and
// d·u are below 10⁻³, it also is
// at most √(variance·dst[i, j])·(1.25·2.01·A + 1.5·(4.2 + (d+1)/2))·u + dst[i, j]·3.4u +
// variance·2⁻⁴⁰⁰, for 2p·exp(−p²/2) < 1.22 and 2p²·exp(−p²/2) < 1.48. Values below
// 2⁻⁴⁹⁷·variance, 1e-150, become 0 or err by as much. A NaN in either row gives NaN; an
// infinite distance gives 0; scaled elements must not overflow. An element depends on
// its two rows and c alone, and not on their order.
func (p *Pool) SEKernel(x, z Mat, origin, invScale []float64, variance float64, dst Mat) {
	d := len(invScale)
	x.check("x", x.Rows, d)
	z.check("z", z.Rows, d)
	dst.check("dst", x.Rows, z.Rows)
	if origin != nil && len(origin) != d {
		panic(fmt.Sprintf("linalg: an origin of %d elements for %d features", len(origin), d))
	}
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
	}
	clear(b.origin)
	copy(b.origin, origin)
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
