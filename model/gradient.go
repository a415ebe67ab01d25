package model

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// hyperGradient turns the sums of a sweep into the derivatives of J_b with
// respect to θ and Z at fixed whitened m and S, which leaves the KL alone:
//
//	dJ = b Σ dE + d ln 1/p_θ
//
// The kernel columns' part has been collected by the sweep. K_ZZ enters
// through L: with X = m hᵀ + 2(S−I)H, all whitened and summed over rows, and Φ
// the lower triangle with half its diagonal,
//
//	dE/dL = −tril(L⁻ᵀX),  dE/dK_ZZ = −L⁻ᵀ Φ(X) L⁻¹
//
// the second by the reverse mode of Cholesky (Murray 2016, eq. 10), because
// the upper part of Lᵀtril(L⁻ᵀX) is the only one that differs from X. Only the
// symmetric part of dE/dK_ZZ counts, which is that of ½(Φ+Φᵀ): half of X's lower
// triangle and its mirror image.
type hyperGradient struct {
	theta []float64
	z     linalg.Mat // [M×d]
}

// gradientInto computes dst. h and bigH are the whitened sums of the pass, scale
// is N/n, sMinusI is S−I; work is M×M scratch.
func (t *Trainer) gradientInto(dst hyperGradient, scale float64, h []float64, bigH, sMinusI, work linalg.Mat) {
	t.pool.GemmLower(false, false, 1, sMinusI, bigH, 0, work)
	for i := range work.Rows {
		linalg.Axpy(0.5*t.mean[i], h[:i+1], work.Row(i))
	}
	t.white.solveBothSidesTrans(t.pool, work)
	clear(dst.theta)
	clear(dst.z.Data)
	t.columnPart(dst)
	t.squarePart(dst, work)
	weight := t.weight * scale
	for i := range dst.theta {
		_, slope := t.cfg.Grids[i].lnInverseWeightAt(t.theta[i])
		dst.theta[i] = weight*dst.theta[i] + slope
	}
	for i := range dst.z.Data {
		dst.z.Data[i] *= weight
	}
}

// lengthscaleIndex returns which parameter feature j's lengthscale is.
func (t *Trainer) lengthscaleIndex(j int) int {
	if t.cfg.ARD {
		return j
	}
	return 0
}

// columnPart adds what the kernel columns k(x, z) and k(x, x) = σ² contribute:
// with G = (dE/dk)∘s, s the slopes −2dk/d(r²), d ln l_j gets Σ G (x−z)_j²/l_j², dz gets
// Σ_i G (x−z)/l², and d ln σ² gets Σ (dE/dk)∘k + σ²Σw.
func (t *Trainer) columnPart(dst hyperGradient) {
	s, d := t.sweep, t.cfg.Dim
	dst.theta[len(dst.theta)-1] += s.gTotal + s.variance*s.sumW
	for j := range d {
		inv2 := s.invScale[j] * s.invScale[j]
		sum := s.gx2[j]
		for i := range t.z.Rows {
			z, gx, g := t.z.Row(i)[j], s.gx.Row(i)[j], s.gx.Row(i)[d]
			sum += z * (z*g - 2*gx)
			dst.z.Row(i)[j] += (gx - z*g) * inv2
		}
		dst.theta[t.lengthscaleIndex(j)] += sum * inv2
	}
}

// squarePart adds what K_ZZ + jI contributes, with −dE/dK_ZZ, symmetric, in
// work, which is overwritten. The jitter is a multiple of σ².
func (t *Trainer) squarePart(dst hyperGradient, work linalg.Mat) {
	m, d, s := work.Rows, t.cfg.Dim, t.sweep
	t.pool.For(m, func(i int) {
		row, k, pull, slope := work.Row(i), t.kuu.Row(i), t.pull.Row(i), t.kuuSlope.Row(i)
		for j, w := range row {
			pull[j] = -w * slope[j]
			row[j] = -w * k[j]
		}
		t.vector[i] = linalg.Sum(row) + float64(row[i]*t.cfg.Jitter)
	})
	dst.theta[len(dst.theta)-1] += linalg.Sum(t.vector)
	for i := range m {
		copy(t.zOnes.Row(i), t.z.Row(i))
		t.zOnes.Row(i)[d] = 1
	}
	gz := t.zPull // 2G(z, 1)
	t.pool.Gemm(false, false, 2, t.pull, t.zOnes, 0, gz)
	for i := range m {
		sum := gz.Row(i)[d]
		for j, z := range t.z.Row(i) {
			inv2 := s.invScale[j] * s.invScale[j]
			pull := z*sum - gz.Row(i)[j] // Σ_i' 2G(z_i − z_i')
			dst.theta[t.lengthscaleIndex(j)] += z * pull * inv2
			dst.z.Row(i)[j] -= pull * inv2
		}
	}
}

// lnInverseWeight returns ln 1/p_θ, interpolated between grid values.
func (t *Trainer) lnInverseWeight() float64 {
	sum := t.cfg.Choice
	for i, g := range t.cfg.Grids {
		p, _ := g.lnInverseWeightAt(t.theta[i])
		sum += p
	}
	return sum
}

// variance returns σ².
func (t *Trainer) variance() float64 { return math.Exp(t.theta[len(t.theta)-1]) }
