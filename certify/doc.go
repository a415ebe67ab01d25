// Package certify makes a certificate from plain numbers about a fitted distribution Q over
// functions: a document of guarantees that hold with confidence 1−δ.
//
// The theorem (Maurer 2004, "A note on the PAC Bayesian theorem", with the sum ξ kept exact). Let P be fixed before N
// independent rows are drawn and let a loss have values in [0, 1]. Then, with probability at least 1−δ over the draw
// of the rows, for all distributions Q at the same time,
//
//	kl(R_S(Q)‖R(Q)) ≤ (KL(Q‖P) + ln 1/p_θ + ln ξ(N) + ln 1/δ) / N
//
// where R_S is the mean loss of a random draw from Q on the rows, R its expected loss on a new row, and p_θ the
// weight that was declared for the hyper-parameters θ before the rows were seen (a union over the grid of all θ).
//
// Every number errs outwards: a term of an upper bound is never below its exact value, a term of a lower bound never
// above. docs/explanation/theory.md proves each rounding bound. The package computes only with integers, math/big and
// single float64 operations, so a certificate can be recomputed bit for bit on every platform. It imports only the
// standard library, so it can be audited on its own.
package certify
