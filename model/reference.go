package model

import (
	"fmt"
	"math/big"

	"github.com/pacsgp/pacsgp/model/loss"
)

// Reference is the law of f(x) under Q at one row, and the expected loss of
// that row, computed from the stored numbers in [loss.Precision]-bit
// arithmetic.
type Reference struct {
	Mean, Variance, Loss float64
}

// NewReference evaluates one row with scaled features x and scaled target y by
// a second implementation that shares no numeric code with [Predictor]: kernel
// by series, φ by forward substitution, everything in big.Float. It takes of
// the order of M²/10 µs, and is what the declared slack of a certificate is
// audited with, on a few rows.
func NewReference(p *Posterior, l loss.Loss, x []float64, y float64) (Reference, error) {
	if err := p.Validate(); err != nil {
		return Reference{}, err
	}
	if len(x) != p.Dim() || firstNotFinite(x) >= 0 || firstNotFinite([]float64{y}) >= 0 {
		return Reference{}, fmt.Errorf("model: reference of a row with %d features, want %d finite ones and a finite target", len(x), p.Dim())
	}
	m := p.Inducing()
	phi := referenceFeatures(p, x)
	mean, variance := exact(0), exact(p.Kernel.Variance)
	t := exact(0)
	for i := range m {
		mean.Add(mean, t.Mul(exact(p.Mean[i]), phi[i]))
		variance.Sub(variance, t.Mul(phi[i], phi[i]))
	}
	for j := range m {
		sum := exact(0)
		for i := j; i < m; i++ {
			sum.Add(sum, t.Mul(exact(p.Factor[i*m+j]), phi[i]))
		}
		variance.Add(variance, t.Mul(sum, sum))
	}
	var r Reference
	r.Mean, _ = mean.Float64()
	r.Variance, _ = variance.Float64()
	r.Loss, _ = l.Reference(exact(y), mean, variance).Float64()
	return r, nil
}

// referenceFeatures returns φ(x) = L⁻¹k_Z(x).
func referenceFeatures(p *Posterior, x []float64) []*big.Float {
	m, d := p.Inducing(), p.Dim()
	phi := make([]*big.Float, m)
	t := exact(0)
	for i := range m {
		q := exact(0)
		for j := range d {
			t.Sub(exact(x[j]), exact(p.Z[i*d+j]))
			t.Quo(t, exact(p.Kernel.Lengthscales[j]))
			q.Add(q, t.Mul(t, t))
		}
		k := loss.Exp(q.Mul(q, exact(-0.5)))
		k.Mul(k, exact(p.Kernel.Variance))
		for j := range i {
			k.Sub(k, t.Mul(exact(p.L[i*m+j]), phi[j]))
		}
		phi[i] = k.Quo(k, exact(p.L[i*m+i]))
	}
	return phi
}

// exact returns x without rounding.
func exact(x float64) *big.Float {
	return new(big.Float).SetPrec(loss.Precision).SetFloat64(x)
}
