// Package model provides the sparse Gaussian process: its posterior, the predictor, and two trainers. Trainer
// minimises a PAC-Bayesian bound over all Gaussians at the inducing points. Collapsed fits the posteriors of
// the paper. The package does no I/O, reads no clock and does not depend on certificates. Its only goroutines
// are the workers of linalg and the search of Collapsed.
//
// Everything is in scaled units. Symbols, and shapes for M inducing points, d features and a block of B rows:
//
//	x, y    [B×d], [B]   a block of rows
//	z       [M×d]        inducing points, rows of Posterior.Z
//	k       [B×M]        k(x, z); kuu [M×M] is k(z, z)
//	slope   [B×M]        −2 times the derivative of k in the squared scaled distance
//	l       [M×M]        lower factor: L Lᵀ = K_ZZ + jI (+ rounding)
//	φ       [B×M]        features, rows φ(x) = L⁻¹ k_Z(x)
//	m, S    [M], [M×M]   whitened posterior Q(v) = N(m, S); Λ = S⁻¹
//	C       [M×M]        lower factor: S = C Cᵀ
//	a, A    [M], [M×M]   the same for unwhitened kernel columns:
//	                     a = L⁻ᵀm, A = L⁻ᵀ(S−I)L⁻¹
//	g, w    [B]          derivatives of the expected loss: dE/dmean, dE/dvariance
//
// The predictive distribution at x is N(μ, s²) with μ = φᵀm = kᵀa and s² = k(x,x) − |φ|² + φᵀSφ = σ² + kᵀA k, and
//
//	KL(Q‖P) = ½(|m|² + tr S − M − ln det S)
//
// holds exactly for the stored L, whatever its rounding errors, provided that [Posterior.JitterCheck] passes.
//
// Training minimises J_b = b·N·R_S + KL + ln 1/p_θ. For the b of [Trainer], the minimum of J_b over Q is
// exactly that of the bound, because the inverse of the binary relative entropy is klinv(q, e) = min_b
// (1−exp(−bq−e))/(1−exp(−b)), with b = logit B − logit R_S at the minimum.
package model
