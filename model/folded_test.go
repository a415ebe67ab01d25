package model

import (
	"fmt"
	"math"
	"testing"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

// fittedPosterior returns the posterior of m inducing points by so many rows of
// weight gain each: as after training, S is near I in the directions that the rows
// say nothing of, which are those that L⁻¹ makes large. The last quarter of the rows
// counts with weight outliers, as do rows far from their prediction: if that is
// negative, S is beyond I where these rows are alone.
func fittedPosterior(t *testing.T, z []float64, d int, lengthscale, jitter, gain, outliers float64) *Posterior {
	t.Helper()
	m := len(z) / d
	p := randomPosterior(t, m, d, 7)
	p.Z = z
	p.Kernel = kernel.SquaredExponential{Lengthscales: make([]float64, d), Variance: 1.7}
	for j := range d {
		p.Kernel.Lengthscales[j] = lengthscale
	}
	p.Jitter = jitter * p.Kernel.Variance
	pool := linalg.NewPool(1)
	defer pool.Close()
	l, zz := square(p.L, m), linalg.Mat{Rows: m, Cols: d, Stride: d, Data: z}
	if err := factorKuu(pool, p.Kernel, zz, p.Jitter, l); err != nil {
		t.Fatal(err)
	}
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
	if err := covarianceFactor(pool, precision, square(p.Factor, m)); err != nil {
		t.Fatal(err)
	}
	return p
}

func kernelColumns(pool *linalg.Pool, p *Posterior, rows Rows) linalg.Mat {
	m, d := p.Inducing(), p.Dim()
	k := linalg.NewMat(rows.Len(), m)
	pool.SEKernel(linalg.Mat{Rows: rows.Len(), Cols: d, Stride: d, Data: rows.X},
		linalg.Mat{Rows: m, Cols: d, Stride: d, Data: p.Z}, p.inverseScales(), p.Kernel.Variance, k)
	return k
}

// The error of the folded way stays within its estimate: below the share of the
// variance that decides between the ways, whatever the condition of L, with
// inducing points that are the same, or all near one place.
func TestFoldedErrsWithinItsEstimate(t *testing.T) {
	pool := linalg.NewPool(2)
	defer pool.Close()
	used, beyond, all, worst := 0, 0, 0, 0.0
	for name, z := range map[string]func(i int, x float64) float64{
		"scattered":  func(_ int, x float64) float64 { return x },
		"pairs":      func(i int, _ float64) float64 { return math.Sin(float64(i / 2 * 37)) },
		"two places": func(i int, x float64) float64 { return float64(i%2*2-1) + 1e-3*x },
	} {
		for _, m := range []int{1, 40, 160, 300} {
			for _, d := range []int{1, 6} {
				for _, jitter := range []float64{1e-6, 1e-8} {
					for _, gain := range []float64{0.0065, 0.65} {
						for _, outliers := range []float64{0.0065, -0.2 / float64(m)} {
							points := testRows(m, d, 5).X
							for i := range points {
								points[i] = z(i/d, points[i])
							}
							p := fittedPosterior(t, points, d, 1, jitter, gain, outliers)
							other := newWhitened(pool, p)
							f := newFolded(pool, p, other)
							all++
							if f == nil {
								continue
							}
							used++
							if len(f.minus) > 0 {
								beyond++
							}
							what := fmt.Sprintf("%s, M=%d, d=%d, jitter %g, gain %g, outliers %g", name, m, d, jitter, gain, outliers)
							worst = max(worst, checkFolded(t, pool, p, f, other, what))
						}
					}
				}
			}
		}
	}
	if used < all*3/4 || beyond < all/8 {
		t.Errorf("the folded way was used for %d posteriors of %d only, %d of them wider than the prior somewhere", used, all, beyond)
	}
	t.Logf("%d posteriors of %d, %d of them wider than the prior somewhere; the largest error is %.2g of its estimate", used, all, beyond, worst)
}

// checkFolded returns the largest error as a share of the estimate.
func checkFolded(t *testing.T, pool *linalg.Pool, p *Posterior, f *folded, other *whitened, what string) (worst float64) {
	t.Helper()
	rows := testRows(200, p.Dim(), 3)
	n := rows.Len()
	k, s := kernelColumns(pool, p, rows), linalg.NewMat(n, p.Inducing())
	mean, fast, slowMean, slow := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	f.predict(k, s, mean, fast)
	other.predict(k, s, slowMean, slow)
	for i := range n {
		off := math.Abs(fast[i] - slow[i])
		if !(off <= f.least*foldedShare) {
			t.Errorf("%s, row %d: variance %g is off by %g, estimated %g", what, i, slow[i], off, f.least*foldedShare)
		}
		worst = max(worst, off/(f.least*foldedShare))
		if off := math.Abs(mean[i] - slowMean[i]); !(off <= 1e-8) {
			t.Errorf("%s, row %d: mean %g is off by %g", what, i, slowMean[i], off)
		}
	}
	return worst
}

// Where S is beyond I, a small pivot beside a large coupling makes U large, and
// inducing points need not see the error that comes of it: they lie close together
// here, or are two. Rows must be as right as elsewhere.
func TestLargeRootsAreSeen(t *testing.T) {
	pool := linalg.NewPool(1)
	defer pool.Close()
	cluster, wider := []float64{0, 0x1p-12, 0x1p-11}, []float64{0, 0x1p-11, 0x1p-10}
	for _, c := range []struct {
		name                string
		lengthscale, jitter float64
		z, factor           []float64
	}{
		{"two points", 0.5, 1e-4, []float64{1.37, -0.8}, []float64{1.0000000043541695, 0, -0.8872047915875002, 0.46137583138381877}},
		{"one of them on the unit circle", 0.5, 1e-4, []float64{1.37, -0.8}, []float64{1, 0, -0.8, 0.6000000000004}},
		{"cluster", 1, 1e-8, wider, []float64{0.9, 0, 0, 0, 0.9, 0, 0, 0.5, math.Sqrt(0.75 - 0x1p-26)}},
		{"nearer to the circle", 1, 1e-8, wider, []float64{0.9, 0, 0, 0, 0.9, 0, 0, 0.6, 0.8 - 0x1p-26}},
		{"dense cluster", 1, 1e-8, cluster, []float64{0.9, 0, 0, 0, 0.9, 0, 0, 0.6, 0.8 - 0x1p-25}},
		{"dense cluster, less jitter", 1, 1e-9, cluster, []float64{0.9, 0, 0, 0, 0.9, 0, 0, 0.6, 0.8 - 0x1p-22}},
	} {
		m := len(c.z)
		p := &Posterior{
			Kernel: kernel.SquaredExponential{Lengthscales: []float64{c.lengthscale}, Variance: 1}, Jitter: c.jitter,
			Z: c.z, Mean: make([]float64, m), L: make([]float64, m*m), Factor: c.factor,
		}
		if err := factorKuu(pool, p.Kernel, linalg.Mat{Rows: m, Cols: 1, Stride: 1, Data: p.Z}, p.Jitter, square(p.L, m)); err != nil {
			t.Fatal(err)
		}
		l, err := loss.New(loss.Squared, 2, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, 80)
		for i := range x {
			x[i] = -4 + 0.1*float64(i)
		}
		_, variance := predict(t, p, 1, x)
		for i, v := range variance {
			want, err := NewReference(p, l, x[i:i+1], 0)
			if err != nil {
				t.Fatal(err)
			}
			if off := math.Abs(v-want.Variance) / want.Variance; !(off <= foldedShare) {
				t.Errorf("%s, x = %g: variance %.12g, want %.12g: off by %.2g of what is allowed", c.name, x[i], v, want.Variance, off/foldedShare)
			}
		}
	}
}

// A posterior that is sharp everywhere is computed the whitened way; one that is
// sharp somewhere so for the rows there, to the same bits.
func TestSharpPosteriorsAreComputedTheWhitenedWay(t *testing.T) {
	const m, d = 40, 6
	pool := linalg.NewPool(1)
	defer pool.Close()
	p := randomPosterior(t, m, d, 5)
	for i := range p.Factor {
		p.Factor[i] *= 1e-4
	}
	if newFolded(pool, p, newWhitened(pool, p)) != nil {
		t.Error("variances of 1e-8 are computed the folded way")
	}

	p = randomPosterior(t, m, d, 5)
	rows := testRows(300, d, 3)
	r, err := NewPredictor(p, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	predicted := func(f *folded) (mean, variance []float64) {
		r.folded = f
		mean, variance = make([]float64, rows.Len()), make([]float64, rows.Len())
		if err := r.Predict(rows.X, mean, variance); err != nil {
			t.Fatal(err)
		}
		return mean, variance
	}
	some := *newFolded(pool, p, newWhitened(pool, p))
	some.least = 0
	mean, variance := predicted(&some)
	slowMean, slow := predicted(nil)
	some.least = variance[17]
	mixedMean, mixed := predicted(&some)
	again := 0
	for i := range rows.Len() {
		wantMean, want := mean[i], variance[i]
		if variance[i] < some.least {
			again++
			wantMean, want = slowMean[i], slow[i]
		}
		if mixed[i] != want || mixedMean[i] != wantMean {
			t.Errorf("row %d of variance %g (least %g): %g, want %g", i, variance[i], some.least, mixed[i], want)
		}
	}
	if again == 0 || again == rows.Len() {
		t.Errorf("%d rows of %d were computed again", again, rows.Len())
	}
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
	p := fittedPosterior(t, z, d, 1, 1e-6, 0.65, 0.65)
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
