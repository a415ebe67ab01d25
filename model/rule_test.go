package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// byRule makes the posterior of a rule in one pass, of which the first rows are given beforehand.
func byRule(t *testing.T, c Config, rows Rows, first, chunk int) *Rule {
	t.Helper()
	r, err := NewRule(c, rows.Slice(0, min(rows.Len(), 300)), rows.Slice(0, first))
	fatal.If(t, err)
	t.Cleanup(r.Close)
	fatal.If(t, r.Begin())
	for from := first; from < rows.Len(); from += chunk {
		some := rows.Slice(from, min(rows.Len(), from+chunk))
		fatal.If(t, r.Add(some.X, some.Y))
	}
	fatal.If(t, r.End())
	return r
}

// bitsOf hashes the numbers of a posterior.
func bitsOf(p *Posterior) string {
	h := sha256.New()
	for _, v := range [][]float64{p.Kernel.Lengthscales, {p.Kernel.Variance, p.Jitter}, p.Z, p.Mean, p.L, p.Factor} {
		for _, x := range v {
			_ = binary.Write(h, binary.LittleEndian, x)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The rule gives the same bits with every number of workers, however the rows come, resumed or not,
// and, by the digest here, on every machine: the tests run with and without assembly, and with
// fused operations in plain Go (GOAMD64=v3).
func TestRuleHasTheSameBitsEverywhere(t *testing.T) {
	const want = "1fc477a1ecb43d8a6815148b5b20cb60e34893c4b6bb03744d03747e87fbe6ee"
	rows, rng := Rows{Dim: 3}, rand.New(rand.NewPCG(5, 5))
	for range 1700 { // in single operations, which no compiler fuses
		x := []float64{4 * rng.Float64(), 4 * rng.Float64(), 4 * rng.Float64()}
		rows.X, rows.Y = append(rows.X, x...), append(rows.Y, x[0]*x[1])
	}
	c := testConfig(t, rows, true)
	c.Inducing = 40
	for _, workers := range []int{1, 2} {
		c.Workers = workers
		r := byRule(t, c, rows, 400, 300*workers)
		p, indices, err := r.Result()
		fatal.If(t, err)
		if got := bitsOf(p); got != want || r.Inducing() != 40 {
			t.Errorf("%d workers: the posterior has the digest %s, want %s", workers, got, want)
		}
		state, err := r.MarshalBinary()
		fatal.If(t, err)
		again, err := ResumeRule(c, state, rows.Slice(0, 300), rows.Slice(0, 400))
		fatal.If(t, err)
		q, same, err := again.Result()
		fatal.If(t, err)
		if bitsOf(q) != want || !reflect.DeepEqual(indices, same) || again.Noise() != r.Noise() {
			t.Error("resumed, it is another one")
		}
		again.Close()
	}
}

// A rule that is resumed before its pass makes it.
func TestRuleResumesBeforeItsPass(t *testing.T) {
	rows := testRows(200, 2, 6)
	c := testConfig(t, rows, true)
	c.Inducing = 15
	begun, err := NewRule(c, rows, rows.Slice(0, 50))
	fatal.If(t, err)
	defer begun.Close()
	state, err := begun.MarshalBinary()
	fatal.If(t, err)
	r, err := ResumeRule(c, state, rows, rows.Slice(0, 50))
	fatal.If(t, err)
	defer r.Close()
	rest := rows.Slice(50, 200)
	fatal.If(t, errors.Join(r.Begin(), r.Add(rest.X, rest.Y), r.End()))
	p, _, err := r.Result()
	fatal.If(t, err)
	q, _, err := byRule(t, c, rows, 50, 1000).Result()
	fatal.If(t, err)
	if bitsOf(p) != bitsOf(q) {
		t.Error("it makes another model")
	}
	c.Inducing = 16
	if _, err := ResumeRule(c, state, rows, rows); !errors.Is(err, ErrState) {
		t.Errorf("under another configuration: %v, want ErrState", err)
	}
}

// The mean is that of DTC, k_Z(x)ᵀ(K_ZZ + jI + K_ZX K_XZ/σ_n²)⁻¹ K_ZX y/σ_n², solved here by gonum
// without whitening, and φᵀSφ its variance.
func TestRuleIsDTC(t *testing.T) {
	rows := testRows(300, 2, 7)
	c := testConfig(t, rows, true)
	c.Inducing, c.Jitter = 12, 1e-4
	r := byRule(t, c, rows, 100, 77)
	p, _, err := r.Result()
	fatal.If(t, err)
	m := p.Inducing()
	z := Rows{X: p.Z, Y: make([]float64, m), Dim: 2}
	sum, kzz, b := mat.NewSymDense(m, nil), mat.NewSymDense(m, nil), mat.NewVecDense(m, nil)
	column := func(x []float64) []float64 {
		k := make([]float64, m)
		for j := range k {
			k[j] = p.Kernel.At(x, z.Row(j))
		}
		return k
	}
	for i := range m {
		for j, k := range column(z.Row(i)) {
			if j == i {
				k += p.Jitter
			}
			if j <= i {
				kzz.SetSym(i, j, k)
			}
		}
	}
	sum.CopySym(kzz)
	for i, y := range rows.Y {
		k := mat.NewVecDense(m, column(rows.Row(i)))
		sum.SymRankOne(sum, 1/r.Noise(), k)
		b.AddScaledVec(b, y/r.Noise(), k)
	}
	var chol, prior mat.Cholesky
	if !chol.Factorize(sum) || !prior.Factorize(kzz) {
		t.Fatal("not positive definite")
	}
	predictor, err := NewPredictor(p, 1)
	fatal.If(t, err)
	defer predictor.Close()
	test := testRows(30, 2, 8)
	mean, variance := make([]float64, 30), make([]float64, 30)
	fatal.If(t, predictor.Predict(test.X, mean, variance))
	var alpha, a, q mat.VecDense
	fatal.If(t, chol.SolveVecTo(&alpha, b))
	for i := range test.Len() {
		k := mat.NewVecDense(m, column(test.Row(i)))
		fatal.If(t, errors.Join(chol.SolveVecTo(&a, k), prior.SolveVecTo(&q, k)))
		wantMean, wantVariance := mat.Dot(k, &alpha), p.Kernel.Variance-mat.Dot(k, &q)+mat.Dot(k, &a)
		if math.Abs(mean[i]-wantMean) > 1e-7 || math.Abs(variance[i]-wantVariance) > 1e-7 {
			t.Errorf("row %d: mean %v, variance %v, want %v and %v", i, mean[i], variance[i], wantMean, wantVariance)
		}
	}
}

// An estimate in the middle between two values is not decided by rounding.
func TestRuleDoesNotDecideByRounding(t *testing.T) {
	for _, c := range []struct{ v, want float64 }{{0.3, 0.25}, {-0.9, -1}, {0.37499, 0.25}, {0.37501, 0.5}} {
		if got, err := decided(c.v, -6, 0.25); got != c.want || err != nil {
			t.Errorf("decided(%v) = %v, %v, want %v", c.v, got, err, c.want)
		}
	}
	for _, v := range []float64{0.375, 0.375 + 1e-8, 0.375 - 1e-8, math.NaN(), math.Inf(1)} {
		if got, err := decided(v, -6, 0.25); !errors.Is(err, ErrUndecided) {
			t.Errorf("decided(%v) = %v, %v, want ErrUndecided", v, got, err)
		}
	}
}
