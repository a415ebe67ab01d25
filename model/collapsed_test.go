package model

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

func newTestCollapsed(t testing.TB, c CollapsedConfig, rows Rows) *Collapsed {
	t.Helper()
	tr, err := NewCollapsed(c, rows)
	fatal.If(t, err)
	t.Cleanup(tr.Close)
	return tr
}

func eachObjective(t *testing.T, rows Rows, f func(t *testing.T, c CollapsedConfig)) {
	for name, change := range map[string]func(*CollapsedConfig){
		"kl-PAC, FITC":        func(c *CollapsedConfig) { c.Alpha = 1 },
		"kl-PAC, DTC":         func(c *CollapsedConfig) { c.ARD = false; c.Grids = c.Grids[:2] },
		"kl-PAC, between":     func(c *CollapsedConfig) { c.Alpha = 0.4 },
		"sqrt-PAC":            func(c *CollapsedConfig) { c.Alpha, c.Objective = 1, BoundPinsker },
		"kl-PAC, exponential": func(c *CollapsedConfig) { c.Alpha, c.Loss = 1, mustLoss(t, loss.Exponential, 0.6) },
		"kl-PAC, relative":    func(c *CollapsedConfig) { c.Alpha, c.Loss = 1, mustLoss(t, loss.Relative, 0.6) },
		"kl-PAC, exact":       func(c *CollapsedConfig) { c.Alpha, c.Exact = 1, true },
		"FITC":                func(c *CollapsedConfig) { c.Alpha, c.Objective = 1, Evidence },
		"DTC":                 func(c *CollapsedConfig) { c.Objective = Evidence },
		"VFE":                 func(c *CollapsedConfig) { c.Objective = EvidenceBound },
		"full GP":             func(c *CollapsedConfig) { c.Objective, c.Exact = Evidence, true },
	} {
		t.Run(name, func(t *testing.T) {
			c := CollapsedConfig{Config: testConfig(t, rows, true)}
			c.Inducing, c.Jitter, c.Workers = 7, 1e-4, 2
			change(&c)
			theta := make([]float64, c.Parameters())
			for i := range theta {
				theta[i] = 0.1 - 0.17*float64(i)
			}
			c.Starts = []Start{{theta, -1.1}}
			f(t, c)
		})
	}
}

// The gradients in every coordinate agree with central differences, for every objective.
func TestCollapsedGradientsAgreeWithDifferences(t *testing.T) {
	rows := testRows(60, 2, 8)
	for _, family := range kernel.Families() {
		eachObjective(t, rows, func(t *testing.T, cfg CollapsedConfig) {
			cfg.Kernel = family
			cfg.Grids[0].LnInverseWeights = make([]float64, cfg.Grids[0].Count)
			for i := range cfg.Grids[0].LnInverseWeights {
				cfg.Grids[0].LnInverseWeights[i] = 5 + 0.02*float64(i)
			}
			c := newTestCollapsed(t, cfg, rows)
			point := append([]float64(nil), c.point...)
			got := c.evaluate(point, rows)
			for i := range point {
				want := difference(func(step float64) float64 {
					moved := slices.Clone(point)
					moved[i] += step
					return c.evaluate(moved, rows).value
				})
				if !(math.Abs(got.gradient[i]-want) <= 1e-6*(1+math.Abs(want))) {
					t.Errorf("%s: derivative %d is %.9g, differences give %.9g", family.Name, i, got.gradient[i], want)
				}
			}
		})
	}
}

// dense has what is computed from N×N matrices, as the formulas are printed.
type dense struct{ value, kl float64 }

func denseOf(t *testing.T, c *Collapsed, rows Rows) (out dense) {
	t.Helper()
	n, m := rows.Len(), c.at.z.Rows
	k := kernel.Kernel{Family: c.cfg.Kernel, Lengthscales: make([]float64, rows.Dim), Variance: math.Exp(c.at.theta[len(c.at.theta)-1])}
	for j := range k.Lengthscales {
		k.Lengthscales[j] = math.Exp(c.at.theta[c.prior.of[j]])
	}
	columns := func(column func(i int) []float64, n int) *mat.Dense { // kernel columns of rows at the inducing points
		out := mat.NewDense(n, m, nil)
		for i := range n {
			k.Row(out.RawRowView(i), column(i), c.at.z.Data)
		}
		return out
	}
	knm, kmm := columns(rows.Row, n), columns(c.at.z.Row, m)
	for i := range m {
		kmm.Set(i, i, kmm.At(i, i)+c.cfg.Jitter*k.Variance)
	}
	var kInverse, sigmaInverse, q, left, b, ratio mat.Dense
	fatal.If(t, kInverse.Inverse(kmm))
	q.Product(knm, &kInverse, knm.T())
	noise, lambda, sigma := math.Exp(c.at.lnNoise), make([]float64, n), mat.DenseCopyOf(&q)
	for i := range n {
		lambda[i] = k.Variance - q.At(i, i)
		sigma.Set(i, i, q.At(i, i)+c.fold.alpha*lambda[i]+noise)
	}
	fatal.If(t, sigmaInverse.Inverse(sigma))
	var w, mean, a mat.VecDense
	w.MulVec(&sigmaInverse, mat.NewVecDense(n, rows.Y))
	mean.MulVec(&q, &w)
	left.Product(&q, &sigmaInverse, &q)
	// u ~ N(a, B): a = K_MN Σ⁻¹ y, B = K_MM − K_MN Σ⁻¹ K_NM, against N(0, K_MM).
	a.MulVec(knm.T(), &w)
	b.Product(knm.T(), &sigmaInverse, knm)
	b.Sub(kmm, &b)
	ratio.Mul(&kInverse, &b)
	lnDet := func(a mat.Matrix) float64 { v, _ := mat.LogDet(a); return v }
	out.kl = 0.5 * (mat.Trace(&ratio) - float64(m) + mat.Inner(&a, &kInverse, &a) + lnDet(kmm) - lnDet(&b))
	switch c.cfg.Objective {
	case Evidence, EvidenceBound:
		out.value = 0.5 * (float64(n)*math.Log(2*math.Pi) + lnDet(sigma) + mat.Dot(mat.NewVecDense(n, rows.Y), &w))
		if c.cfg.Objective == EvidenceBound {
			out.value += linalg.Sum(lambda) / (2 * noise)
		}
		out.value /= float64(n)
	case BoundKL, BoundPinsker:
		risk := 0.0
		for i := range n {
			risk += c.cfg.Loss.Expected(rows.Y[i], mean.AtVec(i), k.Variance-left.At(i, i)) / float64(n)
		}
		e := (out.kl + c.cfg.lnInverseWeight(c.at.theta) + math.Log(2*math.Sqrt(float64(n))/c.cfg.Delta)) / float64(n)
		if out.value = risk + math.Sqrt(e/2); c.cfg.Objective == BoundKL {
			out.value = pacBound(risk, e*float64(n)-math.Log(2*math.Sqrt(float64(n))/c.cfg.Delta), float64(n), c.cfg.Delta)
		}
	}
	return out
}

// The folds give what the dense formulas give: objective, KL, and the law at the rows.
func TestCollapsedAgreesWithDenseFormulas(t *testing.T) {
	rows := testRows(50, 2, 9)
	eachObjective(t, rows, func(t *testing.T, cfg CollapsedConfig) {
		c := newTestCollapsed(t, cfg, rows)
		value := c.evaluate(c.point, rows).value
		want := denseOf(t, c, rows)
		if !(math.Abs(value-want.value) <= 1e-8*(1+math.Abs(want.value))) {
			t.Errorf("objective %.12g, dense %.12g", value, want.value)
		}
		if !(math.Abs(c.eval.kl-want.kl) <= 1e-7*(1+want.kl)) {
			t.Errorf("KL %.12g, dense %.12g", c.eval.kl, want.kl)
		}
	})
}

// collapsedPass makes one pass over rows.
func collapsedPass(t testing.TB, c *Collapsed, rows Rows) {
	t.Helper()
	fatal.If(t, c.Begin())
	fatal.If(t, c.Add(rows.X, rows.Y))
	fatal.If(t, c.End())
}

// fitCollapsed trains to the end.
func fitCollapsed(t testing.TB, cfg CollapsedConfig, rows Rows) *Collapsed {
	t.Helper()
	c := newTestCollapsed(t, cfg, rows)
	for !c.Done() {
		collapsedPass(t, c, rows)
	}
	return c
}

// Each objective falls, and the posterior that comes out is that of the rounded θ.
func TestCollapsedMinimises(t *testing.T) {
	rows := testRows(200, 2, 10)
	eachObjective(t, rows, func(t *testing.T, cfg CollapsedConfig) {
		cfg.Evaluations = 25
		start := newTestCollapsed(t, cfg, rows)
		before := start.evaluate(start.point, rows).value
		c := fitCollapsed(t, cfg, rows)
		if !(c.Objective() < before-1e-3) {
			t.Errorf("the objective went from %g to %g", before, c.Objective())
		}
		p, indices, err := c.Result()
		fatal.If(t, err)
		if got := p.KL(); !(math.Abs(got-c.Progress().KL) <= 1e-6*(1+got)) {
			t.Errorf("KL %g of the posterior, %g in training", got, c.Progress().KL)
		}
		if risk := riskOf(t, p, cfg.Loss, rows); !(math.Abs(risk-c.Progress().Risk) <= 1e-6) {
			t.Errorf("risk %g of the posterior, %g in training (grid %v)", risk, c.Progress().Risk, indices)
		}
	})
}

// A trainer that is resumed from its state after any pass gives the same bits as one that
// was not stopped, whatever the number of workers.
func TestCollapsedResumes(t *testing.T) {
	rows := testRows(120, 2, 11)
	eachObjective(t, rows, func(t *testing.T, cfg CollapsedConfig) {
		cfg.Evaluations = 12
		other := cfg.Starts[0]
		other.LnNoise = 0.5
		cfg.Starts = append(cfg.Starts, other)
		whole, err := fitCollapsed(t, cfg, rows).MarshalBinary()
		fatal.If(t, err)
		c := newTestCollapsed(t, cfg, rows)
		for pass := 0; !c.Done(); pass++ {
			state, err := c.MarshalBinary()
			fatal.If(t, err)
			c.Close()
			cfg.Workers = 1 + pass%3
			if c, err = ResumeCollapsed(cfg, state); err != nil {
				t.Fatal(err)
			}
			// A pass that was begun before is made again: so as to get on, a whole
			// evaluation is made of it.
			for evaluated := c.Progress().Step; c.Progress().Step == evaluated && !c.Done(); {
				collapsedPass(t, c, rows)
			}
		}
		t.Cleanup(c.Close)
		got, err := c.MarshalBinary()
		fatal.If(t, err)
		if !bytes.Equal(got, whole) {
			t.Error("the state is another one")
		}
	})
}

// Rows that stand for two give the objective and the gradient of rows that are there twice.
func TestCollapsedRowsMayStandForSeveral(t *testing.T) {
	rows := testRows(60, 2, 8)
	twice := Rows{Dim: 2, X: slices.Concat(rows.X, rows.X), Y: slices.Concat(rows.Y, rows.Y)}
	eachObjective(t, rows, func(t *testing.T, cfg CollapsedConfig) {
		if cfg.Exact { // all rows would be inducing points twice
			return
		}
		cfg.N = 120
		c := newTestCollapsed(t, cfg, rows)
		point := append([]float64(nil), c.point...)
		got, want := c.evaluate(point, rows), c.evaluate(point, twice)
		if !(math.Abs(got.value-want.value) <= 1e-9*(1+math.Abs(want.value))) {
			t.Errorf("objective %v, of rows that are there twice %v", got.value, want.value)
		}
		for i, v := range want.gradient {
			if !(math.Abs(got.gradient[i]-v) <= 1e-7*(1+math.Abs(v))) {
				t.Errorf("derivative %d is %v, of rows that are there twice %v", i, got.gradient[i], v)
			}
		}
	})
}

// Of several starts the search goes on from the one that comes lowest in its trial.
func TestCollapsedGoesOnFromTheBestStart(t *testing.T) {
	rows := testRows(150, 2, 14)
	cfg := CollapsedConfig{Config: testConfig(t, rows, true), Alpha: 1, Evaluations: 8}
	cfg.Inducing = 9
	for _, starts := range [][]Start{
		nil,
		{{Theta: []float64{0, 0, 0}}, {Theta: []float64{0, 0, 0}, LnNoise: -3}},
		{{Theta: []float64{5, 5, 0}, LnNoise: 5}, {Theta: []float64{0, 0, 0}}},
	} {
		cfg.Starts = starts
		c := newTestCollapsed(t, cfg, rows)
		began := c.evaluate(append([]float64(nil), c.point...), rows).value
		for _, s := range append(starts, Start{Theta: []float64{0, 0, 0}}) {
			alone := cfg
			alone.Starts, alone.Evaluations = []Start{s}, trial
			if tried := fitCollapsed(t, alone, rows).Objective(); !(began <= tried+1e-9) {
				t.Errorf("%v: the search starts at %v, and %v comes to %v", starts, began, s, tried)
			}
		}
		if end := fitCollapsed(t, cfg, rows).Objective(); !(end <= began+1e-9) {
			t.Errorf("%v: it starts at %v and ends at %v", starts, began, end)
		}
	}
}

// A search may start with given inducing points.
func TestCollapsedStartsFromGivenPoints(t *testing.T) {
	rows := testRows(60, 2, 8)
	c := CollapsedConfig{Config: testConfig(t, rows, false), Alpha: 1, Starts: []Start{{make([]float64, 2), 0}}}
	usual := newTestCollapsed(t, c, rows).cfg.fingerprint()
	c.Z = []float64{0, 1, 9, -9, 0.5, 0.25}
	tr := newTestCollapsed(t, c, rows)
	if got := tr.StartInducing(); tr.Inducing() != 3 || !slices.Equal(got, c.Z) {
		t.Errorf("started from %v, want %v", got, c.Z)
	}
	if tr.cfg.fingerprint() == usual {
		t.Error("a search from other points may resume this one")
	}
	for name, change := range map[string]func(*CollapsedConfig){
		"odd":    func(c *CollapsedConfig) { c.Z = c.Z[:3] },
		"NaN":    func(c *CollapsedConfig) { c.Z = []float64{0, math.NaN()} },
		"exact":  func(c *CollapsedConfig) { c.Exact = true },
		"no one": func(c *CollapsedConfig) { c.Starts = nil },
	} {
		bad := c
		change(&bad)
		if _, err := NewCollapsed(bad, rows); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
}

// Coordinates keep their limits, find a value again, and have the slopes of differences.
func TestCoordinates(t *testing.T) {
	for _, c := range []struct {
		logarithms
		least, most float64
	}{{ofNoise, ofNoise.least, ofNoise.most}, {logarithms{-6, 6}, -6, 6}} {
		for _, part := range []float64{0.01, 0.3, 0.5, 0.62, 0.99} {
			v := c.least + part*(c.most-c.least)
			u := c.free(v)
			got, slope := c.value(u)
			if !(math.Abs(got-v) <= 1e-9*(c.most-c.least)) {
				t.Errorf("%+v: %g comes back as %g", c.logarithms, v, got)
			}
			h := 1e-6 * max(1, math.Abs(u))
			above, _ := c.value(u + h)
			below, _ := c.value(u - h)
			if want := (above - below) / (2 * h); !(math.Abs(slope-want) <= 1e-5*math.Abs(want)+1e-12) {
				t.Errorf("%+v at %g: slope %g, differences give %g", c.logarithms, v, slope, want)
			}
		}
		for _, u := range []float64{-1e3, 1e300, math.Inf(1), math.Inf(-1)} {
			if v, slope := c.value(u); !(c.least <= v && v <= c.most) || !(slope >= 0) {
				t.Errorf("%+v at u = %g: %g, slope %g", c.logarithms, u, v, slope)
			}
		}
		for _, v := range []float64{c.least - 1, c.least, c.most, c.most + 1} {
			if u := c.free(v); math.IsNaN(u) || math.IsInf(u, 0) {
				t.Errorf("%+v: %g has the coordinate %g", c.logarithms, v, u)
			}
		}
	}
	if v, slope := (logarithms{2, 2}).value(5); v != 2 || slope != 0 {
		t.Errorf("a fixed parameter moves: %g, %g", v, slope)
	}
}
