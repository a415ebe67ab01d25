// Package linalg is the dense linear algebra of the model's hot loops: matrix products, triangular solves,
// Cholesky, blocks of stationary kernels, exp and the normal distribution, all in float64 and row-major.
//
// It promises three things that a BLAS does not:
//
//   - Results do not depend on the number of workers.
//   - In a product or a right-hand solve, a row of the result depends only on that row of the left operand and
//     on the right operand: not on neighbouring rows, on its position in the block, or on the block's size.
//     (Left-hand solves promise the same for columns.)
//   - Every instruction set gives the same bits, because all do the same fused multiply-adds in the same order.
//     Only the payload of a NaN may differ.
//
// SIMD.md in this folder says how that is done, tested and measured.
//
// Dimensions that do not fit are a caller's bug and panic. Operands must not overlap unless a function says
// that they may.
package linalg
