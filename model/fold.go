package model

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/loss"
)

// A foldPass is one of the passes through the rows that a [Collapsed] needs for a gradient.
type foldPass int

const (
	gatherPass foldPass = iota // adds up the sums of the posterior
	riskPass                   // adds up the risk, and its derivatives by the posterior
	pullPass                   // adds up the derivatives by kernel columns and noise
)

// A fold adds up the sums of one pass for a [Collapsed]. Its [sweep] makes the pass of the risk. All passes
// work with unwhitened kernel columns k, so that rows need no triangular solve:
//
//	|φ|² = kᵀQk,  Q = (K_ZZ + jI)⁻¹
type fold struct {
	*sweep
	pass foldPass

	rowWeight float64 // 1, or N/n for n rows that represent N

	// Of the evaluated point.
	alpha, noise float64    // α and σ_n²
	bigQ         linalg.Mat // [M×M]: Q
	// Derivative by a kernel column: dF/dk = weight·(g a + 2w A k) + (y/D) pullB + (2/D) pullA k − 2α D̄ Q k,
	// where D̄ = dF/dD.
	weight float64    // c: dF/d(loss of a row)
	pullB  []float64  // [M]: L⁻ᵀ dF/db
	pullA  linalg.Mat // [M×M]: L⁻ᵀ dF/d(S⁻¹) L⁻¹
	// ofEvidence adds ½(1/D − y²/D²) to D̄, and ofTrace −½σ²/D².
	ofEvidence, ofTrace bool

	// Sums over rows.
	precise linalg.Mat // [M×M], lower triangle: Σ kkᵀ/D
	moment  []float64  // Σ k y/D
	lnNoise float64    // Σ ln D
	fitted  float64    // Σ y²/D
	bigR    linalg.Mat // [M×M], lower triangle: −α Σ D̄ kkᵀ
	dNoise  float64    // Σ D̄

	// Of the present block.
	q, t      linalg.Mat // [B×M]
	left, d   []float64  // Λ and D
	r, scaled []float64
}

func newFold(p *prior, l loss.Loss, m, d int) *fold {
	vec := func() []float64 { return make([]float64, sweepBlock) }
	square := func() linalg.Mat { return linalg.NewMat(m, m) }
	return &fold{
		sweep: newSweep(p, l, m, d), rowWeight: 1,
		bigQ: square(), pullB: make([]float64, m), pullA: square(),
		precise: square(), moment: make([]float64, m), bigR: square(),
		q: linalg.NewMat(sweepBlock, m), t: linalg.NewMat(sweepBlock, m),
		left: vec(), d: vec(), r: vec(), scaled: vec(),
	}
}

// begin empties the sums of a pass.
func (f *fold) begin(pass foldPass) {
	f.pass, f.seen = pass, 0
	switch pass {
	case gatherPass:
		clear(f.precise.Data)
		clear(f.moment)
		f.lnNoise, f.fitted = 0, 0
	case riskPass:
		f.reset(false)
	case pullPass:
		clear(f.bigR.Data)
		f.columnSum.reset()
		f.dNoise = 0
	}
}

// add gathers rows, and computes whenever a block is full. Far rows count as lost and have no gradient.
func (f *fold) add(x, y []float64) {
	f.collect(x, y, f.prior, func() {
		f.seen++
		f.risk++
	}, f.flush)
}

// flush adds the rows of the block to the sums of the pass, and empties the block.
func (f *fold) flush() {
	slope := linalg.Mat{}
	switch f.pass {
	case riskPass:
		f.sweep.flush()
		return
	case pullPass:
		slope = f.slope
	case gatherPass:
	}
	n, m := f.kernel(f.prior, f.k, slope), f.z.Rows
	if n == 0 {
		return
	}
	f.seen += int64(n)
	k := f.k.Slice(0, n, 0, m)
	if f.pass == gatherPass {
		f.gather(n, k)
	} else {
		f.pull(n, k, slope.Slice(0, n, 0, m))
	}
}

// noises sets Λ and D of the block's rows. It expects |φ|² in left, which it overwrites with Λ.
func (f *fold) noises(n int) {
	for i := range n {
		if f.alpha > 0 {
			f.left[i] = max(0, f.variance-f.left[i])
		} else {
			f.left[i] = 0
		}
		f.d[i] = float64(f.alpha*f.left[i]) + f.noise
	}
}

// gather adds n rows with kernel columns k to the sums of gatherPass.
func (f *fold) gather(n int, k linalg.Mat) {
	if f.alpha > 0 {
		p := f.p.Slice(0, n, 0, k.Cols)
		f.half(f.bigQ, k, p)
		f.pool.For(n, func(i int) { f.left[i] = 2 * linalg.Dot(k.Row(i), p.Row(i)) })
	}
	f.noises(n)
	for i := range n {
		f.w[i], f.scaled[i] = f.rowWeight/f.d[i], f.rowWeight*f.y[i]/f.d[i]
		f.lnNoise += f.rowWeight * math.Log(f.d[i])
		f.fitted += f.y[i] * f.scaled[i]
	}
	f.pool.SyrkWeighted(f.w[:n], k, 1, f.precise)
	f.pool.Gemm(true, false, 1, k, view(f.scaled[:n], 1), 1, view(f.moment, 1))
}

// pull adds n rows with kernel columns k to the sums of pullPass.
func (f *fold) pull(n int, k, slope linalg.Mat) {
	m := k.Cols
	t, p, q := f.t.Slice(0, n, 0, m), f.p.Slice(0, n, 0, m), f.q.Slice(0, n, 0, m)
	f.pool.Gemm(false, false, 1, k, f.pullA, 0, t)
	if f.weight != 0 {
		f.pool.Gemm(false, false, 1, k, f.bigA, 0, p)
	}
	if f.alpha > 0 {
		f.pool.Gemm(false, false, 1, k, f.bigQ, 0, q)
		f.pool.For(n, func(i int) { f.left[i] = linalg.Dot(k.Row(i), q.Row(i)) })
	}
	f.noises(n)
	f.pool.For(n, func(i int) { f.pullRow(i, k.Row(i), slope.Row(i), p.Row(i), q.Row(i), t.Row(i)) })
	for i := range n {
		dNoise := f.r[i]
		f.dNoise += dNoise
		own := float64(f.weight * f.w[i])
		if f.left[i] > 0 {
			own += f.alpha * dNoise
		}
		if f.ofTrace {
			own += 0.5 * f.rowWeight / f.d[i]
		}
		f.gSelf += own
		f.gTotal += f.total[i]
		for j, v := range f.xd.Row(i) {
			f.gx2[j] += f.rowSums[i] * v * v
		}
		f.r[i] *= -f.alpha
		if f.left[i] == 0 {
			f.r[i] = 0
		}
	}
	f.pool.Gemm(true, false, 1, t, f.x.Slice(0, n, 0, f.dim+1), 1, f.gx)
	if f.alpha > 0 {
		f.pool.SyrkWeighted(f.r[:n], k, 1, f.bigR)
	}
}

// pullRow overwrites t, which is row i of k·pullA, with (dF/dk)∘slope.
func (f *fold) pullRow(i int, k, slope, p, q, t []float64) {
	d, y := f.d[i], f.y[i]
	pulled := linalg.Dot(k, t) + float64(y*linalg.Dot(k, f.pullB))
	if f.ofEvidence {
		pulled += 0.5 * (y*y - d)
	}
	if f.ofTrace {
		pulled += 0.5 * f.variance
	}
	f.r[i] = -f.rowWeight * pulled / (d * d)
	byMean, byA, byQ := 0.0, 0.0, 0.0
	if f.weight != 0 {
		_, g, w := f.loss.Gradient(y, linalg.Dot(k, f.a), f.variance+linalg.Dot(k, p))
		f.w[i] = w
		byMean, byA = f.weight*g, 2*f.weight*w
	} else {
		f.w[i] = 0
	}
	if f.left[i] > 0 {
		byQ = -2 * f.alpha * f.r[i]
	}
	byB, byT := f.rowWeight*y/d, 2*f.rowWeight/d
	sum, total := 0.0, 0.0
	for j, kj := range k {
		v := float64(byB*f.pullB[j]) + float64(byT*t[j])
		if byMean != 0 || byA != 0 {
			v += float64(byMean*f.a[j]) + float64(byA*p[j])
		}
		if byQ != 0 {
			v += byQ * q[j]
		}
		total += float64(v * kj)
		t[j] = v * slope[j]
		sum += t[j]
	}
	f.rowSums[i], f.total[i] = sum, total
}

// finite reports whether the sums of the pass are finite.
func (f *fold) finite() bool {
	numbers := []float64{f.lnNoise, f.fitted, f.risk, f.dNoise, f.gTotal, f.gSelf}
	return firstNotFinite(numbers) < 0 && firstNotFinite(f.moment) < 0 && firstNotFinite(f.h) < 0
}
