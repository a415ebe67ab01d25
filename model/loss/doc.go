// Package loss provides the bounded losses of the certificates and, in closed form, their expectations under a
// Gaussian distribution of the prediction, with the derivatives that training needs.
//
// Throughout, y is the target, v ~ N(m, s²) the prediction at one input, and
//
//	A = (y−ε−m)/s,  C = (y+ε−m)/s,  D = Φ(C)−Φ(A),  g = m−y
//
// with Φ and φ the standard normal distribution function and density. Every loss lies in [0, 1]. All lengths
// (y, m, s, ε) are in the same, scaled, unit.
//
// Closed forms: Reeb et al., "Learning Gaussian Processes by Minimizing PAC-Bayesian Generalization Bounds"
// (NeurIPS 2018), appendix C. Wrong signs and factors of the printed formulas are corrected.
package loss
