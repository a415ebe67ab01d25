// Package synth makes the artificial data of the paper: inputs uniform on [−3, 3]^d, a function drawn from a Gaussian
// process with squared-exponential kernel whose ln lengthscales are uniform on (−1, 1), and Gaussian noise.
//
// All rows of a source use the same function, and row i is always the same. So a certified bound
// can be tested on any number of fresh rows, which real data do not have.
//
// The function is drawn from random Fourier features (Rahimi and Recht, 2007):
//
//	f(x) = √(2/D) Σ_r cos(2π(⟨ω_r, x⟩ + b_r)),  ω_rj ~ N(0, 1/(2π l_j)²),  b_r ~ U(0, 1)
//
// whose law tends to the Gaussian process with variance 1 as D grows. An exact draw at 20,000 points would need the
// factor of a matrix of 3.2 GB. A row needs sums, products, a polynomial and one logarithm. Each operation is rounded
// separately, so the numbers do not depend on whether the processor has fused instructions.
package synth
