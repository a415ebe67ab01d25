package model

import (
	"math"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
)

// fittedPosterior returns the posterior of m inducing points by so many rows of
// weight gain each: as after training, S is near I in the directions that the rows
// say nothing of, which are those that L⁻¹ makes large. The last quarter of the rows
// counts with weight outliers, as do rows far from their prediction: if that is
// negative, S is beyond I where these rows are alone.
func fittedPosterior(t *testing.T, f *kernel.Family, z []float64, d int, lengthscale, jitter, gain, outliers float64) *Posterior {
	t.Helper()
	m := len(z) / d
	p := randomPosterior(t, m, d, 7)
	p.Z = z
	p.Kernel = kernel.Kernel{Family: f, Lengthscales: make([]float64, d), Variance: 1.7}
	for j := range d {
		p.Kernel.Lengthscales[j] = lengthscale
	}
	p.Jitter = jitter * p.Kernel.Variance
	pool := linalg.NewPool(1)
	defer pool.Close()
	l, zz := view(p.L, m), view(z, d)
	fatal.If(t, factorKuu(pool, p.Kernel, zz, p.Jitter, l))
	rows := testRows(4*m, d, 21)
	for i := 3 * m * d; i < len(rows.X); i++ {
		rows.X[i] += 2
	}
	phi := kernelColumns(pool, p, rows)
	pool.TrsmRightLowerTrans(l, phi)
	precision := linalg.NewMat(m, m)
	near, far := phi.Slice(0, 3*m, 0, m), phi.Slice(3*m, 4*m, 0, m)
	pool.Gemm(true, false, gain, near, near, 0, precision)
	pool.Gemm(true, false, outliers, far, far, 1, precision)
	for i := range m {
		precision.Row(i)[i]++
	}
	fatal.If(t, covarianceFactor(pool, precision, view(p.Factor, m)))
	return p
}

func kernelColumns(pool *linalg.Pool, p *Posterior, rows Rows) linalg.Mat {
	m, d := p.Inducing(), p.Dim()
	k := linalg.NewMat(rows.Len(), m)
	pool.Kernel(p.Kernel.Family.Profile, linalg.Mat{Rows: rows.Len(), Cols: d, Stride: d, Data: rows.X},
		view(p.Z, d), nil, p.inverseScales(), p.Kernel.Variance, k, linalg.Mat{})
	return k
}

// Where rows lie does not matter, only their distances: an epoch in seconds is as
// good a feature as one that is centred.
func TestPredictionsAreShiftInvariant(t *testing.T) {
	const m, d = 120, 2
	round := func(x []float64) {
		for i := range x {
			x[i] = math.Round(x[i]*0x1p20) / 0x1p20
		}
	}
	z, rows := testRows(m, d, 5).X, testRows(100, d, 3)
	round(z)
	round(rows.X)
	p := fittedPosterior(t, kernel.Matern32, z, d, 1, 1e-6, 0.65, 0.65)
	wantMean, want := predict(t, p, 1, rows.X)
	for _, shift := range []float64{0x1p12, 0x1p24, 0x1p30} {
		moved, x := *p, make([]float64, len(rows.X))
		moved.Z = make([]float64, len(z))
		for i := range z {
			moved.Z[i] = z[i] + shift
		}
		for i := range x {
			x[i] = rows.X[i] + shift
		}
		mean, variance := predict(t, &moved, 1, x)
		for i := range mean {
			if mean[i] != wantMean[i] || variance[i] != want[i] {
				t.Fatalf("moved by %g, row %d: mean %g and variance %g, want %g and %g", shift, i, mean[i], variance[i], wantMean[i], want[i])
			}
		}
	}
}
