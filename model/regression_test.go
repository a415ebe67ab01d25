package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

func regress(t testing.TB, p *Posterior, rows Rows, limit int64, workers int, chunks ...int) *Regression {
	t.Helper()
	r, err := NewRegression(p, limit, workers)
	fatal.If(t, err)
	t.Cleanup(r.Close)
	for _, n := range chunks {
		fatal.If(t, r.Add(rows.Slice(0, n).X, rows.Slice(0, n).Y))
		rows = rows.Slice(n, rows.Len())
	}
	fatal.If(t, r.Add(rows.X, rows.Y))
	return r
}

// Sums do not depend on chunks or on workers.
func TestRegressionSumsAreExact(t *testing.T) {
	rows := testRows(3000, 3, 5)
	p := randomPosterior(t, 40, 3, 1)
	whole := regress(t, p, rows, 3000, 1)
	for workers, chunks := range [][]int{1: {17, 1083}, 2: {1, 255, 256, 300}, 3: nil} {
		if sum := regress(t, p, rows, 3000, max(1, workers), chunks...); !slices.Equal(sum.total, whole.total) || sum.rows != whole.rows {
			t.Errorf("sums of the chunks %v by %d workers differ", chunks, workers)
		}
	}
}

// The law is that of the textbook: exact solves of the features of an independent implementation, at
// the noise found, which no neighbour beats.
func TestRegressionIsLeastSquares(t *testing.T) {
	rows := testRows(500, 2, 6)
	p := randomPosterior(t, 25, 2, 1)
	fit, err := regress(t, p, rows, 500, 2).Fit()
	fatal.If(t, err)
	m := p.Inducing()
	phi := linalg.NewMat(rows.Len(), m)
	left := 0.0
	for i := range rows.Len() {
		row := phi.Row(i)
		p.Kernel.Row(row, rows.X[2*i:2*i+2], p.Z)
		solveLower(view(p.L, m), row)
		left += p.Kernel.Variance - linalg.Dot(row, row)
	}
	solve := func(noise float64) (w []float64, evidence float64) {
		b, factor := linalg.NewMat(m, m), linalg.NewMat(m, m)
		w = make([]float64, m)
		squares := 0.0
		for i, y := range rows.Y {
			for j, v := range phi.Row(i) {
				w[j] += v * y / noise
				for k, u := range phi.Row(i) {
					b.Row(j)[k] += v * u / noise
				}
			}
			squares += y * y
		}
		for j := range m {
			b.Row(j)[j]++
		}
		copy(factor.Data, b.Data)
		pool := linalg.NewPool(1)
		defer pool.Close()
		if !pool.Cholesky(factor) {
			t.Fatal("not positive definite")
		}
		half := slices.Clone(w)
		solveLower(factor, half)
		evidence = -0.5 * (float64(rows.Len())*math.Log(2*math.Pi*noise) + (squares+left)/noise - linalg.Dot(half, half))
		for j := range m {
			evidence -= math.Log(factor.Row(j)[j])
		}
		solveLowerTrans(factor, half)
		return half, evidence
	}
	w, at := solve(fit.Noise)
	for _, factor := range []float64{0.9, 1.1} {
		if _, near := solve(fit.Noise * factor); !(near <= at) {
			t.Errorf("evidence %v at noise %v, %v at %v times it", at, fit.Noise, near, factor)
		}
	}
	for i := range rows.Len() {
		if got, want := linalg.Dot(fit.Law.Mean, phi.Row(i)), linalg.Dot(w, phi.Row(i)); !(math.Abs(got-want) < 1e-5) {
			t.Fatalf("row %d: mean %v, want %v", i, got, want)
		}
	}
	if fit.Noise <= fit.Least {
		t.Error("noisy rows are said to show no noise")
	}
}

// Rows without noise are fitted closely, and the noise that is found is small.
func TestRegressionWithoutNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := Rows{Dim: 2}
	for range 1500 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		rows.X, rows.Y = append(rows.X, a, b), append(rows.Y, (math.Sin(2*a)+b)/1.2)
	}
	c := testConfig(t, rows, true)
	c.Inducing = 200
	tr := newTestTrainer(t, c, rows)
	drive(t, tr, rows, 500, nil)
	p, _, err := tr.Result()
	fatal.If(t, err)
	fit, err := regress(t, p, rows, 1500, 2).Fit()
	fatal.If(t, err)
	mean, _ := predict(t, fit.Law, 2, rows.X)
	worst := 0.0
	for i, y := range rows.Y {
		worst = max(worst, math.Abs(mean[i]-y))
	}
	if noise := math.Sqrt(fit.Noise); !(worst <= 2e-3 && noise <= 3e-3) {
		t.Errorf("a row is off by %g, and the noise is %g", worst, noise)
	}
}
