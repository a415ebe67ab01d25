package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

// testRows returns rows of a smooth function with noise.
func testRows(n, d int, seed uint64) Rows {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := Rows{X: make([]float64, n*d), Y: make([]float64, n), Dim: d}
	for i := range n {
		sum := 0.0
		for j := range d {
			x := 3.4*rng.Float64() - 1.7
			r.X[i*d+j] = x
			sum += math.Sin(float64(j+1) * x)
		}
		r.Y[i] = sum/math.Sqrt(float64(d)) + 0.2*rng.NormFloat64()
	}
	return r
}

// flatGrids returns the paper's grid for p parameters.
func flatGrids(p int) []Grid {
	g := make([]Grid, p)
	for i := range g {
		g[i] = Grid{Min: -6, Step: 0.01, Count: 1201}
	}
	return g
}

// difference is the slope of f at 0 by central differences of fourth order.
func difference(f func(step float64) float64) float64 {
	const h = 1e-4
	return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
}

func mustLoss(t testing.TB, kind loss.Kind, eps float64) loss.Loss {
	t.Helper()
	l, err := loss.New(kind, eps, 0.8*eps, 1.3*eps, 0.37)
	fatal.If(t, err)
	return l
}

func testConfig(t testing.TB, rows Rows, ard bool) Config {
	c := Config{Dim: rows.Dim, N: int64(rows.Len()), Delta: 0.01, Loss: mustLoss(t, loss.ZeroOne, 0.6), Scales: Scales{ARD: ard}, Seed: 3}
	c.Grids = flatGrids(c.Parameters())
	return c
}

func newTestTrainer(t testing.TB, c Config, rows Rows) *Trainer {
	t.Helper()
	tr, err := NewTrainer(c, rows.Slice(0, min(rows.Len(), 250)))
	fatal.If(t, err)
	t.Cleanup(tr.Close)
	return tr
}

// objective returns J_b of the trainer's state over the rows.
func (t *Trainer) objective(tb testing.TB, rows Rows, scale float64) float64 {
	tb.Helper()
	t.fresh, t.factored = false, false
	fatal.If(tb, t.derive())
	t.sweep.reset(false)
	t.sweep.add(rows.X, rows.Y)
	t.sweep.flush()
	return t.weight*scale*(t.sweep.risk+t.sweep.likelihood/2*t.sweep.squares) + t.kl + t.cfg.lnInverseWeight(t.theta)
}

// The derivatives of J_b in every θ, some coordinates of Z and the direction
// of q agree with central differences, for every loss.
func TestGradientsAgreeWithDifferences(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		rows := testRows(90, 3, 5)
		for _, kind := range loss.Kinds() {
			for _, scales := range []Scales{{ARD: true}, {}, {ARD: true, Widths: []int{1, 2}}} {
				c := testConfig(t, rows, true)
				c.Scales = scales
				c.Grids = c.Grids[:c.Parameters()]
				c.Loss, c.Kernel, c.Inducing, c.Jitter = mustLoss(t, kind, 0.6), f, 12, 1e-3
				c.Grids[0].LnInverseWeights = make([]float64, c.Grids[0].Count)
				for i := range c.Grids[0].LnInverseWeights {
					c.Grids[0].LnInverseWeights[i] = 5 + 0.02*float64(i)
				}
				tr := newTestTrainer(t, c, rows)
				tr.theta[0] += 0.003 // inside a cell of the grid
				tr.sweep.likelihood = 0.3
				const scale = 1.7
				fatal.If(t, tr.derive())
				tr.sweep.reset(true)
				tr.sweep.add(rows.X, rows.Y)
				tr.sweep.flush()
				tr.whiten()
				dst := hyperGradient{theta: make([]float64, len(tr.theta)), z: linalg.NewMat(12, 3)}
				tr.gradientInto(dst, scale, tr.sweep.h, tr.sweep.bigH, tr.sMinus, tr.work)
				check := func(name string, at *float64, got float64) {
					t.Helper()
					value := *at
					want := difference(func(step float64) float64 { *at = value + step; return tr.objective(t, rows, scale) })
					*at = value
					if !(math.Abs(got-want) <= 2e-6*(1+math.Abs(want))) {
						t.Errorf("%s, %+v: d J/d %s = %.9g, differences give %.9g", kind, scales, name, got, want)
					}
				}
				for i := range tr.theta {
					check("theta", &tr.theta[i], dst.theta[i])
				}
				for i := 0; i < len(tr.z.Data); i += 5 {
					check("z", &tr.z.Data[i], dst.z.Data[i])
				}
			}
		}
	})
}

// The natural gradient's ingredients are derivatives: with respect to m it is
// m + bΣgφ, and with respect to S, (I − Λ)/2 + bΣwφφᵀ.
func TestGradientOfQAgreesWithDifferences(t *testing.T) {
	rows := testRows(80, 2, 6)
	c := testConfig(t, rows, true)
	c.Inducing, c.Jitter = 8, 1e-3
	tr := newTestTrainer(t, c, rows)
	const scale = 1.3
	tr.objective(t, rows, scale)
	tr.whiten()
	dm := make([]float64, 8)
	for i := range dm {
		dm[i] = tr.mean[i] + tr.weight*scale*tr.sweep.h[i]
	}
	// dJ/dΛ = −S (dJ/dS) S.
	ds := linalg.NewMat(8, 8)
	for i := range 8 {
		for j := range 8 {
			ds.Row(i)[j] = tr.weight*scale*tr.sweep.bigH.Row(i)[j] - 0.5*tr.precision.Row(i)[j]
		}
		ds.Row(i)[i] += 0.5
	}
	s, left, dl := linalg.NewMat(8, 8), linalg.NewMat(8, 8), linalg.NewMat(8, 8)
	copy(s.Data, tr.sMinus.Data)
	for i := range 8 {
		s.Row(i)[i]++
	}
	tr.pool.Gemm(false, false, -1, s, ds, 0, left)
	tr.pool.Gemm(false, false, 1, left, s, 0, dl)
	slope := func(set func(step float64)) float64 {
		return difference(func(step float64) float64 {
			set(step)
			defer set(-step)
			return tr.objective(t, rows, scale)
		})
	}
	for i := range 8 {
		want := slope(func(step float64) { tr.mean[i] += step })
		if !(math.Abs(dm[i]-want) <= 2e-6*(1+math.Abs(want))) {
			t.Errorf("dJ/dm[%d] = %.9g, differences give %.9g", i, dm[i], want)
		}
		for j := range i + 1 {
			want := slope(func(step float64) {
				tr.precision.Row(i)[j] += step
				if i != j {
					tr.precision.Row(j)[i] += step
				}
			})
			got := dl.Row(i)[j]
			if i != j {
				got *= 2
			}
			if !(math.Abs(got-want) <= 2e-6*(1+math.Abs(want))) {
				t.Errorf("dJ/dΛ[%d,%d] = %.9g, differences give %.9g", i, j, got, want)
			}
		}
	}
}

// A small natural-gradient step lowers J_b.
func TestNaturalGradientDecreasesObjective(t *testing.T) {
	rows := testRows(120, 2, 7)
	for _, kind := range loss.Kinds() {
		c := testConfig(t, rows, true)
		c.Loss, c.Inducing = mustLoss(t, kind, 0.4), 20
		tr := newTestTrainer(t, c, rows)
		before := tr.objective(t, rows, 1)
		for step := range 5 {
			tr.whiten()
			taken := tr.naturalStep(0.1, 1)
			if tr.moveMean(taken); taken != 0.1 {
				t.Errorf("%s: step of rate %g instead of 0.1", kind, taken)
			}
			after := tr.objective(t, rows, 1)
			if !(after < before) {
				t.Errorf("%s: step %d raised J_b from %.9g to %.9g", kind, step, before, after)
			}
			before = after
		}
	}
}
