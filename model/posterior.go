package model

import (
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// A Posterior is the distribution Q over functions: a sparse Gaussian process in whitened form, given by the
// numbers that a model file stores. M is the number of inducing points.
type Posterior struct {
	Kernel kernel.Kernel
	Jitter float64   // j: absolute, on the diagonal of K_ZZ
	Z      []float64 // [M×d] row-major: inducing points
	Mean   []float64 // [M]: m
	L      []float64 // [M×M] row-major, lower: L Lᵀ ≈ K_ZZ + Jitter·I
	Factor []float64 // [M×M] row-major, lower, diagonal > 0: C, S = C Cᵀ
}

// Inducing returns M, the number of inducing points.
func (p *Posterior) Inducing() int { return len(p.Mean) }

// Dim returns the number of features.
func (p *Posterior) Dim() int { return p.Kernel.Dim() }

// inverseScales returns the reciprocal lengthscales, [d].
func (p *Posterior) inverseScales() []float64 {
	inv := make([]float64, p.Dim())
	for j, l := range p.Kernel.Lengthscales {
		inv[j] = 1 / l
	}
	return inv
}

// Validate returns an error unless the sizes agree, every number is finite,
// both factors are lower triangular and have positive diagonals.
func (p *Posterior) Validate() error {
	m := len(p.Mean)
	if err := p.Kernel.Validate(); err != nil {
		return fmt.Errorf("model: invalid posterior: %w", err)
	}
	if m == 0 || len(p.Z) != m*p.Dim() || len(p.L) != m*m || len(p.Factor) != m*m {
		return fmt.Errorf("model: invalid posterior: sizes disagree: mean %d, Z %d (d=%d), L %d, factor %d",
			m, len(p.Z), p.Dim(), len(p.L), len(p.Factor))
	}
	if !(p.Jitter > 0) || math.IsInf(p.Jitter, 1) {
		return fmt.Errorf("model: invalid posterior: jitter is %g, want a positive number", p.Jitter)
	}
	for _, part := range []struct {
		name   string
		values []float64
	}{{"Z", p.Z}, {"mean", p.Mean}, {"L", p.L}, {"factor", p.Factor}} {
		if i := firstNotFinite(part.values); i >= 0 {
			return fmt.Errorf("model: invalid posterior: %s, value %d is %g", part.name, i, part.values[i])
		}
	}
	if err := validateLower("L", p.L, m); err != nil {
		return err
	}
	return validateLower("factor", p.Factor, m)
}

func validateLower(name string, a []float64, m int) error {
	for i := range m {
		if !(a[i*m+i] > 0) {
			return fmt.Errorf("model: invalid posterior: %s has %g on the diagonal (row %d), want positive numbers", name, a[i*m+i], i)
		}
		for j := i + 1; j < m; j++ {
			if a[i*m+j] != 0 {
				return fmt.Errorf("model: invalid posterior: %s is not lower triangular: element (%d, %d) is %g", name, i, j, a[i*m+j])
			}
		}
	}
	return nil
}

// KL returns ½(|m|² + tr S − M − ln det S) in plain float64: for progress and for comparisons. Certificates
// compute an upper bound on it instead.
func (p *Posterior) KL() float64 {
	m := len(p.Mean)
	sum := linalg.Dot(p.Mean, p.Mean) + linalg.Dot(p.Factor, p.Factor) - float64(m)
	for i := range m {
		sum -= 2 * math.Log(p.Factor[i*m+i])
	}
	return 0.5 * sum
}

// view returns row-major elements as a matrix with cols columns, sharing memory.
func view(a []float64, cols int) linalg.Mat {
	return linalg.Mat{Rows: len(a) / cols, Cols: cols, Stride: cols, Data: a}
}

// Arithmetic identifies the arithmetic of predictions and losses: programs with the same value give the same
// bits for a row, with every instruction set.
const Arithmetic = "1"

// InstructionSet names the processor's instruction set that the linear algebra uses. The last bits of training
// may depend on it.
func InstructionSet() string { return linalg.InstructionSet() }
