package model

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/kernel/kerneltest"
	"github.com/pacsgp/pacsgp/model/loss"
)

// randomPosterior returns a posterior with m random inducing points.
func randomPosterior(t testing.TB, m, d int, seed uint64) *Posterior {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	p := &Posterior{
		Kernel: kernel.Kernel{Family: kernel.SquaredExponential, Lengthscales: make([]float64, d), Variance: 1.7},
		Jitter: 1.7e-6,
		Z:      make([]float64, m*d), Mean: make([]float64, m),
		L: make([]float64, m*m), Factor: make([]float64, m*m),
	}
	for j := range d {
		p.Kernel.Lengthscales[j] = math.Sqrt(float64(d)) * (0.5 + rng.Float64())
	}
	for i := range p.Z {
		p.Z[i] = rng.NormFloat64()
	}
	for i := range m {
		p.Mean[i] = rng.NormFloat64()
		for j := range i {
			p.Factor[i*m+j] = 0.3 * rng.NormFloat64() / math.Sqrt(float64(m))
		}
		p.Factor[i*m+i] = 0.05 + rng.Float64()
	}
	pool := linalg.NewPool(1)
	defer pool.Close()
	z := view(p.Z, d)
	fatal.If(t, factorKuu(pool, p.Kernel, z, p.Jitter, view(p.L, m)))
	return p
}

// withFamily gives p another kernel, and the L that belongs to it.
func withFamily(t testing.TB, p *Posterior, f *kernel.Family) *Posterior {
	t.Helper()
	p.Kernel.Family = f
	if !refactor(p) {
		t.Fatalf("K_ZZ of %s cannot be factorized", f.Name)
	}
	return p
}

// eachFamily runs f as a subtest for each family of kernels.
func eachFamily(t *testing.T, f func(t *testing.T, family *kernel.Family)) {
	t.Helper()
	for _, family := range kernel.Families() {
		t.Run(strings.ReplaceAll(family.Name, "/", ":"), func(t *testing.T) { f(t, family) })
	}
}

func predict(t testing.TB, p *Posterior, workers int, x []float64) (mean, variance []float64) {
	t.Helper()
	r, err := NewPredictor(p, workers)
	fatal.If(t, err)
	defer r.Close()
	n := len(x) / p.Dim()
	mean, variance = make([]float64, n), make([]float64, n)
	fatal.If(t, r.Predict(x, mean, variance))
	return mean, variance
}

// riskOf is the mean expected loss of rows.
func riskOf(t testing.TB, p *Posterior, l loss.Loss, rows Rows) (risk float64) {
	t.Helper()
	mean, variance := predict(t, p, 1, rows.X)
	for i, y := range rows.Y {
		risk += l.Expected(y, mean[i], variance[i]) / float64(rows.Len())
	}
	return risk
}

// With Z = X and the posterior of a Gaussian likelihood, the sparse process is
// the exact one, solved here by gonum without whitening.
func TestInducingPointsAtTheRowsGiveTheExactProcess(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		const n, noise, jitter = 60, 0.3, 1e-9
		rows := testRows(n, 2, 11)
		c := testConfig(t, rows, true)
		c.Inducing, c.Jitter, c.Kernel = n, jitter, f
		tr := newTestTrainer(t, c, rows)
		copy(tr.z.Data, rows.X)
		copy(tr.theta, []float64{math.Log(0.9), math.Log(0.7), math.Log(1.3)})
		tr.fresh = false
		fatal.If(t, tr.derive())
		gram, moment := linalg.NewMat(n, n), make([]float64, n)
		tr.leastSquares(rows, gram, moment)
		fatal.If(t, gaussianPosterior(tr.pool, gram, moment, noise*noise, tr.mean, tr.precision, tr.factor))
		tr.phase = Settled
		p, _, err := tr.Result()
		fatal.If(t, err)

		kxx := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				kxx.SetSym(i, j, p.Kernel.At(rows.Row(i), rows.Row(j)))
			}
			kxx.SetSym(i, i, p.Kernel.At(rows.Row(i), rows.Row(i))+noise*noise)
		}
		var chol mat.Cholesky
		if !chol.Factorize(kxx) {
			t.Fatal("K + noise is not positive definite")
		}
		test := testRows(30, 2, 12)
		mean, variance := predict(t, p, 1, test.X)
		for i := range test.Len() {
			k := mat.NewVecDense(n, nil)
			for j := range n {
				k.SetVec(j, p.Kernel.At(test.Row(i), rows.Row(j)))
			}
			var solved mat.VecDense
			fatal.If(t, chol.SolveVecTo(&solved, k))
			wantMean := mat.Dot(&solved, mat.NewVecDense(n, rows.Y))
			wantVariance := p.Kernel.Variance - mat.Dot(&solved, k)
			// The jitter moves both by its size over the noise's.
			if !(math.Abs(mean[i]-wantMean) <= 1e-6) || !(math.Abs(variance[i]-wantVariance) <= 1e-6) {
				t.Errorf("row %d: mean %.9g, variance %.9g; exact process %.9g, %.9g", i, mean[i], variance[i], wantMean, wantVariance)
			}
		}
	})
}

// The whitened KL equals that of u = Lv, computed directly from N(Lm, LSLᵀ)
// and N(0, LLᵀ) by gonum.
func TestKLByTwoRoutes(t *testing.T) {
	for _, m := range []int{1, 2, 7, 40} {
		p := randomPosterior(t, m, 3, uint64(m))
		for i := range m { // a well-conditioned L, so that the second route keeps its digits
			p.L[i*m+i]++
		}
		l, c := mat.NewDense(m, m, p.L), mat.NewDense(m, m, p.Factor)
		var lc, prior, post mat.Dense
		lc.Mul(l, c)
		prior.Mul(l, l.T())
		post.Mul(&lc, lc.T())
		var chol mat.Cholesky
		if !chol.Factorize(symmetric(&prior)) {
			t.Fatal("prior covariance is not positive definite")
		}
		var mean, solved mat.VecDense
		mean.MulVec(l, mat.NewVecDense(m, p.Mean))
		fatal.If(t, chol.SolveVecTo(&solved, &mean))
		var ratio mat.Dense
		fatal.If(t, chol.SolveTo(&ratio, &post))
		lnPost, _ := mat.LogDet(&post)
		want := 0.5 * (mat.Dot(&mean, &solved) + mat.Trace(&ratio) - float64(m) + chol.LogDet() - lnPost)
		if got := p.KL(); !(math.Abs(got-want) <= 1e-9*(1+want)) {
			t.Errorf("M=%d: KL() = %.12g, directly %.12g", m, got, want)
		}
	}
}

func symmetric(a *mat.Dense) *mat.SymDense {
	n, _ := a.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			s.SetSym(i, j, a.At(i, j))
		}
	}
	return s
}

// A row's result has the same bits alone, in any block and for any number of
// workers.
func TestPredictionOfARowIsItsOwn(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		p := withFamily(t, randomPosterior(t, 67, 4, 3), f)
		rows := testRows(2*predictBlock+130, 4, 4)
		mean, variance := predict(t, p, 1, rows.X)
		mean2, variance2 := predict(t, p, 2, rows.X)
		if !slices.Equal(mean, mean2) || !slices.Equal(variance, variance2) {
			t.Error("two workers give other bits than one")
		}
		for _, cut := range []struct{ from, to int }{{0, 1}, {5, 6}, {3, 260}, {255, 257}, {100, 386}} {
			m, v := predict(t, p, 1, rows.Slice(cut.from, cut.to).X)
			if !slices.Equal(m, mean[cut.from:cut.to]) || !slices.Equal(v, variance[cut.from:cut.to]) {
				t.Errorf("rows [%d, %d) give other bits by themselves", cut.from, cut.to)
			}
		}
	})
}

// The slow path's pairs of numbers agree with 256-bit arithmetic far beyond
// float64.
func TestReferenceAgreesWithBigNumbers(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		const m, d = 40, 3
		p := withFamily(t, randomPosterior(t, m, d, 4), f)
		rows := testRows(3, d, 9)
		for row := range rows.Len() {
			phi := make([]*big.Float, m)
			mean, variance, u := exact(0), exact(p.Kernel.Variance), exact(0)
			for i := range m {
				k := kerneltest.At(p.Kernel, rows.Row(row), p.Z[i*d:(i+1)*d])
				for j := range i {
					k.Sub(k, u.Mul(exact(p.L[i*m+j]), phi[j]))
				}
				phi[i] = k.Quo(k, exact(p.L[i*m+i]))
				mean.Add(mean, u.Mul(exact(p.Mean[i]), phi[i]))
				variance.Sub(variance, u.Mul(phi[i], phi[i]))
			}
			for j := range m {
				sum := exact(0)
				for i := j; i < m; i++ {
					sum.Add(sum, u.Mul(exact(p.Factor[i*m+j]), phi[i]))
				}
				variance.Add(variance, u.Mul(sum, sum))
			}
			for i, got := range referenceFeatures(p, rows.Row(row)) {
				off, _ := u.Sub(phi[i], got.exact()).Float64()
				if !(math.Abs(off) <= 1e-26) {
					t.Errorf("row %d, feature %d is off by %g", row, i, off)
				}
			}
			got, err := NewReference(p, mustLoss(t, loss.ZeroOne, 0.6), rows.Row(row), rows.Y[row])
			wantMean, _ := mean.Float64()
			wantVariance, _ := variance.Float64()
			if err != nil || got.Mean != wantMean || got.Variance != wantVariance {
				t.Errorf("row %d: %+v (%v), want mean %g and variance %g to the last bit", row, got, err, wantMean, wantVariance)
			}
		}
	})
}

func TestJitterCheckCatchesAChangedL(t *testing.T) {
	p := randomPosterior(t, 50, 2, 8)
	bound, limit, err := p.JitterCheck()
	if err != nil || !(bound <= limit) || !(bound > 0) {
		t.Fatalf("JitterCheck() = %g, %g, %v for an honest L", bound, limit, err)
	}
	for _, at := range []int{0, 20*50 + 20, 49*50 + 3} {
		old := p.L[at]
		p.L[at] += 1e-3
		if bound, limit, err = p.JitterCheck(); err != nil || bound <= limit {
			t.Errorf("L[%d] changed by 1e-3: bound %g is within the limit %g (%v)", at, bound, limit, err)
		}
		p.L[at] = old
	}
	p.Z[7] += 1e-4 // the L of other inducing points
	if bound, limit, err = p.JitterCheck(); err != nil || bound <= limit {
		t.Errorf("Z changed: bound %g is within the limit %g (%v)", bound, limit, err)
	}
}

// The bound is never below the residual in 256-bit arithmetic, and at most a
// few orders above it.
func TestJitterBoundIsAnUpperBound(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		for _, m := range []int{1, 5, 30} {
			p := withFamily(t, randomPosterior(t, m, 2, uint64(m)), f)
			bound, _, err := p.JitterCheck()
			fatal.If(t, err)
			sum := exact(0)
			for i := range m {
				for j := range m {
					r, product := kerneltest.At(p.Kernel, p.Z[2*i:2*i+2], p.Z[2*j:2*j+2]), exact(0)
					if i == j {
						r.Add(r, exact(p.Jitter))
					}
					for k := range min(i, j) + 1 {
						r.Sub(r, product.Mul(exact(p.L[i*m+k]), exact(p.L[j*m+k])))
					}
					sum.Add(sum, r.Mul(r, r))
				}
			}
			norm, _ := sum.Sqrt(sum).Float64()
			if bound < norm {
				t.Errorf("M=%d: bound %g is below the norm %g", m, bound, norm)
			}
			if bound > 1e-12*float64(m) {
				t.Errorf("M=%d: bound %g is loose", m, bound)
			}
		}
	})
}

func TestValidateRefuses(t *testing.T) {
	for name, spoil := range map[string]func(p *Posterior){
		"NaN in Z":                 func(p *Posterior) { p.Z[1] = math.NaN() },
		"infinite mean":            func(p *Posterior) { p.Mean[0] = math.Inf(1) },
		"short L":                  func(p *Posterior) { p.L = p.L[1:] },
		"element above diagonal":   func(p *Posterior) { p.Factor[1] = 0.1 },
		"zero diagonal":            func(p *Posterior) { p.Factor[0] = 0 },
		"negative diagonal of L":   func(p *Posterior) { p.L[0] = -1 },
		"no jitter":                func(p *Posterior) { p.Jitter = 0 },
		"no inducing points":       func(p *Posterior) { p.Mean = nil },
		"lengthscale of 0":         func(p *Posterior) { p.Kernel.Lengthscales[0] = 0 },
		"more Z than Mean":         func(p *Posterior) { p.Z = append(p.Z, 1) },
		"variance is not a number": func(p *Posterior) { p.Kernel.Variance = math.NaN() },
	} {
		p := randomPosterior(t, 4, 2, 1)
		spoil(p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: Validate() = nil", name)
		}
		if _, _, err := p.JitterCheck(); err == nil {
			t.Errorf("%s: JitterCheck succeeds", name)
		}
		if _, err := NewPredictor(p, 1); err == nil {
			t.Errorf("%s: NewPredictor succeeds", name)
		}
	}
}

func ExamplePosterior_KL() {
	p := Posterior{Mean: []float64{0.5}, Factor: []float64{0.8}}
	fmt.Printf("%.6f\n", p.KL())
	// Output: 0.168144
}
