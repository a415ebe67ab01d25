package model

import (
	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// hyperGradient converts the sums of a sweep into the derivatives of J_b with
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
	t.prior.white.solveBothSidesTrans(t.pool, work)
	t.prior.gradient(t.sweep.columnSum, work, dst)
	weight := t.weight * scale
	for i := range dst.theta {
		_, slope := t.cfg.Grids[i].lnInverseWeightAt(t.theta[i])
		dst.theta[i] = weight*dst.theta[i] + slope
	}
	for i := range dst.z.Data {
		dst.z.Data[i] *= weight
	}
}
