package linalg

import (
	"fmt"
	"math"
)

// kernelRows is the number of rows of a kernel block that a worker computes at a time.
const kernelRows = 64

// A kernelBlock has the operands of one call of [Pool.Kernel].
type kernelBlock struct {
	pool     *Pool
	set      *kernelSet
	profile  *Profile
	x, dst   Mat
	slope    Mat       // empty if only values are computed
	origin   []float64 // subtracted from all rows
	scale    []float64 // invScale·√Stretch
	variance float64
	panels   []float64 // (z−origin)·scale, kernelCols columns at a time
	assembly panel     // the profile's; its functions may be nil
}

// Kernel computes a block of kernel values for rows of x and z. With s = invScale, c the origin (nil means 0)
// and f the profile,
//
//	dst[i, j] = variance·f(r),  r² = Σ_k ((x[i,k]−c[k])·s[k] − (z[j,k]−c[k])·s[k])²
//
// Since rows are scaled around c before they are subtracted, errors depend on distances alone if c lies among
// the rows. If slope has elements, they become −2 times the derivatives of those of dst in r²; its size and
// stride must be those of dst. With [Profile.SlopeIsValue] slope is not used.
//
// With u = 2⁻⁵³, let w be the exact vector (x−z)·s·√Stretch, p its length, and A the sum of the lengths of
// (x−c)·s·√Stretch and (z−c)·s·√Stretch. The computed w is off by at most 4.2u·p + 2.01uA. Summing its squares
// moves the root of the sum by at most a further (d+1)u/2 of itself, and a Matérn profile, which takes this
// root, by another u. So a computed value is the value at a distance that is off by δp + Δ, with Δ = 2.01uA and
// δ = (4.2 + (d+1)/2)u, or u more for a Matérn profile. The last operations err by Ru of the value, R = 3.4,
// 5.4 and 7.4 for the three profiles. If uA and du are below 10⁻³, an element errs by at most
//
//	√(variance·dst[i, j])·(C₁Δ + C₂δ) + dst[i, j]·Ru + variance·2⁻⁴⁰⁰
//
// with C₁ = 1.25, 0.46, 0.37 and C₂ = 1.5, 1.03, 1.15: docs/explanation/theory.md, section 10. Values where exp
// is below 2⁻⁴⁹⁷ become 0 or err by as much.
//
// Rows should spread over no more than some thousand lengthscales. There must be at least one feature, and
// scaled elements must not overflow. A NaN in either row gives NaN; an infinite distance gives 0. An element
// depends on its two rows and c alone, and not on their order.
func (p *Pool) Kernel(profile *Profile, x, z Mat, origin, invScale []float64, variance float64, dst, slope Mat) {
	d := len(invScale)
	x.check("x", x.Rows, d)
	z.check("z", z.Rows, d)
	dst.check("dst", x.Rows, z.Rows)
	if profile.SlopeIsValue {
		slope = Mat{}
	}
	if slope.Rows > 0 {
		slope.check("slope", x.Rows, z.Rows)
		if slope.Stride != dst.Stride {
			panic(fmt.Sprintf("linalg: slope has stride %d, dst %d", slope.Stride, dst.Stride))
		}
	}
	if d == 0 || origin != nil && len(origin) != d {
		panic(fmt.Sprintf("linalg: an origin of %d elements for %d features", len(origin), d))
	}
	if x.Rows == 0 || z.Rows == 0 {
		return
	}
	set := current.Load()
	size := roundUp(z.Rows, set.kernelCols) * d
	scratch := p.calls.get(size + 2*d)
	defer p.calls.put(scratch)
	b := &kernelBlock{
		pool: p, set: set, profile: profile, x: x, dst: dst, slope: slope, variance: variance, assembly: set.panels[profile], origin: scratch[size+d:], scale: scratch[size : size+d], panels: scratch[:size],
	}
	root := math.Sqrt(profile.Stretch)
	for k, s := range invScale {
		b.scale[k] = s * root
	}
	clear(b.origin)
	copy(b.origin, origin)
	b.pack(b.panels, set.kernelCols, z, 0, z.Rows)
	p.For((x.Rows+kernelRows-1)/kernelRows, b.rows)
}

// pack puts rows [i0, i1) of m, shifted by the origin and scaled, into panels of the given width.
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

// rows computes a piece of the rows.
func (b *kernelBlock) rows(piece int) {
	i0 := piece * kernelRows
	rows, d, cols := min(kernelRows, b.x.Rows-i0), len(b.scale), b.set.kernelCols
	size := roundUp(rows, kernelGroup) * d
	scratch := b.pool.pieces.get(size + 2*rows*cols)
	defer b.pool.pieces.put(scratch)
	x, edge, edgeSlope := scratch[:size], scratch[size:size+rows*cols], scratch[size+rows*cols:]
	b.pack(x, kernelGroup, b.x, i0, i0+rows)
	n := b.dst.Cols
	j := 0
	for ; j+cols <= n; j += cols {
		at := i0*b.dst.Stride + j
		b.columns(rows, x, j, b.dst.Stride, b.dst.Data[at:], b.slope.Data[min(at, len(b.slope.Data)):])
	}
	if j == n {
		return
	}
	b.columns(rows, x, j, cols, edge, edgeSlope)
	for i := range rows {
		copy(b.dst.Row(i0 + i)[j:], edge[i*cols:(i+1)*cols])
		if b.slope.Rows > 0 {
			copy(b.slope.Row(i0 + i)[j:], edgeSlope[i*cols:(i+1)*cols])
		}
	}
}

// columns computes the panel of columns that begins at j, for packed rows.
func (b *kernelBlock) columns(rows int, x []float64, j, stride int, dst, slope []float64) {
	d, cols, steep := len(b.scale), b.set.kernelCols, float64(b.profile.Steepness*b.variance)
	z, slopes := b.panels[j*d:], b.slope.Rows > 0
	switch {
	case slopes && b.assembly.slopes != nil:
		b.assembly.slopes(rows, d, x, z, stride, b.variance, steep, dst, slope)
	case !slopes && b.assembly.values != nil:
		b.assembly.values(rows, d, x, z, stride, b.variance, dst)
	default:
		if !slopes {
			slope = nil
		}
		squares(rows, d, cols, x, z, stride, dst)
		b.profile.apply(rows, cols, stride, b.variance, steep, dst, slope)
	}
}
