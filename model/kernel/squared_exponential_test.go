package kernel_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

func ExampleSquaredExponential() {
	k := kernel.SquaredExponential{Lengthscales: []float64{1, 2}, Variance: 1.5}
	fmt.Printf("%.6f\n", k.At([]float64{0, 0}, []float64{1, 2}))
	// Output: 0.551819
}

// At stays within its proven error bound of the value in 256-bit arithmetic.
func TestErrorBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(loss.Precision).SetFloat64(x) }
	for _, d := range []int{1, 2, 8, 26, 100} {
		k := kernel.SquaredExponential{Lengthscales: make([]float64, d), Variance: 2.3}
		for j := range d {
			k.Lengthscales[j] = math.Exp(rng.NormFloat64()) * math.Sqrt(float64(d))
		}
		for range 50 {
			x, z, q := make([]float64, d), make([]float64, d), num(0)
			for j := range d {
				x[j], z[j] = rng.NormFloat64(), rng.NormFloat64()
				t := num(0).Sub(num(x[j]), num(z[j]))
				t.Quo(t, num(k.Lengthscales[j]))
				q.Add(q, t.Mul(t, t))
			}
			want := loss.Exp(q.Mul(q, num(-0.5)))
			want.Mul(want, num(k.Variance))
			diff, _ := want.Sub(want, num(k.At(x, z))).Float64()
			if !(math.Abs(diff) <= k.ErrorBound()) {
				t.Errorf("d=%d: At errs by %g, bound %g", d, diff, k.ErrorBound())
			}
		}
	}
}

func TestValidate(t *testing.T) {
	nan := math.NaN()
	good := kernel.SquaredExponential{Lengthscales: []float64{1}, Variance: 1}
	if err := good.Validate(); err != nil || good.Dim() != 1 {
		t.Errorf("Validate() = %v, Dim() = %d", err, good.Dim())
	}
	for _, k := range []kernel.SquaredExponential{
		{Variance: 1},
		{Lengthscales: []float64{0}, Variance: 1},
		{Lengthscales: []float64{-1}, Variance: 1},
		{Lengthscales: []float64{nan}, Variance: 1},
		{Lengthscales: []float64{1e-320}, Variance: 1},
		{Lengthscales: []float64{1}, Variance: nan},
		{Lengthscales: []float64{1}, Variance: math.Inf(1)},
		{Lengthscales: []float64{1}},
	} {
		if err := k.Validate(); err == nil {
			t.Errorf("%+v is valid", k)
		}
	}
}
