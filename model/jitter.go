package model

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// JitterCheck bounds how far the stored L is from a factor of K_ZZ + jI, where K_ZZ is the exact kernel matrix
// of the stored numbers:
//
//	bound ≥ ‖K_ZZ + jI − L Lᵀ‖_F,  limit = j/2
//
// The KL of the whitened posterior is exact for the stored L if E = LLᵀ − K_ZZ is positive semidefinite. For
// then u = f(Z) + ξ with ξ ~ N(0, E), independent of f, is a legitimate inducing variable with covariance LLᵀ.
// E = jI − Δ with ‖Δ‖₂ ≤ ‖Δ‖_F ≤ bound, so bound ≤ limit suffices, with a factor of 2 to spare. If bound is
// above limit, or NaN, the KL proves nothing and there must be no certificate.
//
// The residual is computed in plain float64, with an a-priori bound on its rounding error: with u = 2⁻⁵³ and γ
// = (M+4)u/(1−(M+4)u), a sum of M products and two more terms, in any order, fused or not, errs by at most
//
//	γ (Σ_k |L_ik||L_jk| + K_ij + jδ_ij) ≤ γ (√(r_i r_j) + K_ij + jδ_ij)
//
// (Higham 2002, §3.1, and Cauchy–Schwarz) with r_i = |L_i|², and the kernel by dK = [kernel.Kernel.ErrorBound].
// The Frobenius norm of the bound is at most γ(Σ r_i + Mσ² + √M j) + M·dK. The arithmetic of the bound itself
// errs relatively by less than 2(M²+4)u, which is added at the end. A posterior that is not valid is an error.
func (p *Posterior) JitterCheck() (bound, limit float64, err error) {
	if err := p.Validate(); err != nil {
		return math.NaN(), math.NaN(), err
	}
	m, d := len(p.Mean), p.Dim()
	pool := linalg.NewPool(1)
	defer pool.Close()
	residual := linalg.NewMat(m, m)
	for i := range m {
		p.Kernel.Row(residual.Row(i)[:i+1], p.Z[i*d:(i+1)*d], p.Z)
		residual.Data[i*m+i] += p.Jitter
	}
	pool.Syrk(false, -1, view(p.L, m), 1, residual)

	squares, trace := 0.0, 0.0
	for i := range m {
		for j := range i {
			r := residual.Data[i*m+j]
			squares += float64(2 * r * r)
		}
		r := residual.Data[i*m+i]
		squares += float64(r * r)
		li := p.L[i*m : (i+1)*m]
		trace += linalg.Dot(li, li)
	}
	const u = 0x1p-53
	n := float64(m)
	gamma := (n + 4) * u / (1 - (n+4)*u)
	rounding := float64(gamma*(trace+float64(n*p.Kernel.Variance)+float64(math.Sqrt(n)*p.Jitter))) + float64(n*p.Kernel.ErrorBound())
	bound = (math.Sqrt(squares) + rounding) * (1 + 2*(n*n+4)*u)
	return bound, p.Jitter / 2, nil
}
