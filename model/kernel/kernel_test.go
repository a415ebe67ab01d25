package kernel_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/kernel/kerneltest"
)

func ExampleKernel() {
	for _, f := range []*kernel.Family{kernel.SquaredExponential, kernel.Matern32, kernel.Matern52} {
		k := kernel.Kernel{Family: f, Lengthscales: []float64{1, 2}, Variance: 1.5}
		fmt.Printf("%s %.6f\n", f.Name, k.At([]float64{0, 0}, []float64{1, 2}))
	}
	// Output:
	// squared-exponential 0.551819
	// matern-3/2 0.446731
	// matern-5/2 0.475925
}

// Values at 50 digits, by another program (Python's decimal): testdata has a file for each
// family.
func TestExactValues(t *testing.T) {
	for _, f := range kernel.Families() {
		text, err := os.ReadFile("testdata/" + strings.ReplaceAll(f.Name, "/", "-") + ".csv")
		fatal.If(t, err)
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(rows) < 6 {
			t.Fatalf("%d rows of exact values of %s, want a header and 5 (%v)", len(rows), f.Name, err)
		}
		for _, row := range rows[1:] {
			at, _ := kerneltest.Num(0).SetString(row[0])
			want, _ := kerneltest.Num(0).SetString(row[1])
			off := kerneltest.Num(0).Sub(want, kerneltest.Value(f, at))
			if off.Quo(off, want); off.Sign() != 0 && off.MantExp(nil) > -150 {
				t.Errorf("%s at %s is off by 2^%d", f.Name, row[0], off.MantExp(nil))
			}
		}
	}
}

// Row stays within its proven error bound of the value in 256-bit arithmetic, near a point
// and far away too.
func TestErrorBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, f := range kernel.Families() {
		worst := 0.0
		for _, d := range []int{1, 2, 8, 26, 100} {
			k := kernel.Kernel{Family: f, Lengthscales: make([]float64, d), Variance: 2.3}
			for j := range d {
				k.Lengthscales[j] = math.Exp(rng.NormFloat64()) * math.Sqrt(float64(d))
			}
			for i := range 60 {
				x, z := make([]float64, d), make([]float64, d)
				spread := []float64{1, 0.1, 1e-8, 1e-160, 4, 40}[i%6]
				for j := range d {
					z[j] = rng.NormFloat64()
					x[j] = z[j] + spread*rng.NormFloat64()
				}
				want := kerneltest.At(k, x, z)
				diff, _ := want.Sub(want, kerneltest.Num(k.At(x, z))).Float64()
				if !(math.Abs(diff) <= k.ErrorBound()) {
					t.Errorf("%s, d=%d: At errs by %g, bound %g", f.Name, d, diff, k.ErrorBound())
				}
				worst = max(worst, math.Abs(diff)/k.ErrorBound())
			}
		}
		if !(worst > 0.01) {
			t.Errorf("%s: no error is above %g of the bound", f.Name, worst)
		}
	}
}

// Blocks stay within the proven error, value by value: near the kink of a Matérn family,
// around an origin far away, where values vanish, and where squares underflow.
func TestBlockErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	pool := linalg.NewPool(1)
	defer pool.Close()
	const u = 0x1p-53
	for _, f := range kernel.Families() {
		e, c, worst := f.Errors, f.Profile.Stretch, 0.0
		for i := range 900 {
			d := []int{1, 2, 7}[i%3]
			x, z, o := make([]float64, d), make([]float64, d), make([]float64, d)
			l, inverse := make([]float64, d), make([]float64, d)
			apart := math.Exp(12*rng.Float64() - 6)
			if i%10 == 0 {
				apart = math.Exp2(-600 * rng.Float64())
			}
			away := math.Exp(14*rng.Float64() - 4)
			for j := range d {
				l[j] = math.Exp(rng.NormFloat64())
				inverse[j] = 1 / l[j]
				o[j] = l[j] * away * rng.NormFloat64()
				z[j] = l[j] * rng.NormFloat64()
				x[j] = z[j] + l[j]*apart*rng.NormFloat64()
			}
			if i%7 == 0 {
				copy(o, z)
			}
			const variance = 1.7
			got := linalg.NewMat(1, 1)
			pool.Kernel(f.Profile, row(x), row(z), o, inverse, variance, got, linalg.Mat{})
			ax, _ := kerneltest.Squares(x, o, l).Float64()
			az, _ := kerneltest.Squares(z, o, l).Float64()
			reach := math.Sqrt(c) * (math.Sqrt(ax) + math.Sqrt(az)) * (1 + 1e-12)
			root := math.Sqrt(variance * got.Data[0])
			bound := root*(e.Shift*2.01*reach+e.Scale*(4.2+e.Root+float64(d+1)/2))*u + e.Last*u*got.Data[0] + variance*0x1p-400
			want := kerneltest.Value(f, kerneltest.Squares(x, z, l))
			diff, _ := kerneltest.Num(0).Sub(want.Mul(want, kerneltest.Num(variance)), kerneltest.Num(got.Data[0])).Float64()
			if !(math.Abs(diff) <= bound) {
				t.Errorf("%s: value %g between %v and %v around %v errs by %g, bound %g", f.Name, got.Data[0], x, z, o, diff, bound)
			}
			worst = max(worst, math.Abs(diff)/bound)
		}
		if !(worst > 0.1) {
			t.Errorf("%s: no error is above %g of the bound", f.Name, worst)
		}
		t.Logf("%s: largest share of the bound %.2f", f.Name, worst)
	}
}

func row(x []float64) linalg.Mat {
	return linalg.Mat{Rows: 1, Cols: len(x), Stride: len(x), Data: x}
}

// The constants of the proof are above what they stand for, and near it: of f, as a
// function of the distance p, the largest |f′|/√f and p|f′|/√f, with room for the second
// order, and p|f′| for rows; and beyond Vanish f is below 2⁻⁴⁰⁰.
func TestErrorConstants(t *testing.T) {
	for _, f := range kernel.Families() {
		e, c := f.Errors, f.Profile.Stretch
		at := func(p float64) float64 {
			v, _ := kerneltest.Value(f, kerneltest.Num(p*p/c)).Float64()
			return v
		}
		shift, scale, plain := 0.0, 0.0, 0.0
		const h = 1e-5
		for p := 2 * h; p < 12; p += 1e-2 {
			slope, root := math.Abs(at(p+h)-at(p-h))/(2*h), math.Sqrt(at(p))
			shift, scale, plain = max(shift, slope/root), max(scale, p*slope/root), max(plain, p*slope)
		}
		for _, k := range []struct {
			name             string
			got, want, times float64
		}{
			{"Shift", e.Shift, shift, 1.01},
			{"Scale", e.Scale, scale, 1.01},
			{"RowScale", e.RowScale, plain / 2, 1.005}, // half of what t is off by
		} {
			if !(k.want*k.times <= k.got && k.got <= k.want*1.05) {
				t.Errorf("%s: %s is %g, want a little more than %g", f.Name, k.name, k.got, k.want)
			}
		}
		v := kerneltest.Value(f, kerneltest.Num(e.Vanish*e.Vanish/c))
		if v.MantExp(nil) >= -402 {
			t.Errorf("%s: at a distance of %g the value is 2^%d", f.Name, e.Vanish, v.MantExp(nil))
		}
	}
}

// The logarithm of a Matérn value falls by at most 1 a unit of distance, on which the
// bound's second order rests.
func TestMaternFallsSlowly(t *testing.T) {
	for _, f := range kernel.Families() {
		if f.SlopeIsValue { // the squared exponential, whose second order has a proof of its own
			continue
		}
		c := f.Profile.Stretch
		for p := 0.0; p < 340; p += 0.25 {
			near, far := kerneltest.Value(f, kerneltest.Num(p*p/c)), kerneltest.Value(f, kerneltest.Num((p+0.25)*(p+0.25)/c))
			fall, _ := kerneltest.Num(0).Quo(near, far).Float64()
			if !(1 <= fall && fall <= math.Exp(0.25)) {
				t.Fatalf("%s falls by %g from %g to %g", f.Name, fall, p, p+0.25)
			}
		}
	}
}

func TestNamed(t *testing.T) {
	for _, f := range kernel.Families() {
		if got, err := kernel.Named(f.Name); err != nil || got != f {
			t.Errorf("Named(%q) = %v, %v", f.Name, got, err)
		}
	}
	if _, err := kernel.Named("matern"); !errors.Is(err, kernel.ErrFamily) {
		t.Errorf("Named(matern) = %v, want %v", err, kernel.ErrFamily)
	}
}

func TestValidate(t *testing.T) {
	nan, se := math.NaN(), kernel.SquaredExponential
	good := kernel.Kernel{Family: se, Lengthscales: []float64{1}, Variance: 1}
	if err := good.Validate(); err != nil || good.Dim() != 1 {
		t.Errorf("Validate() = %v, Dim() = %d", err, good.Dim())
	}
	for _, k := range []kernel.Kernel{
		{Lengthscales: []float64{1}, Variance: 1},
		{Family: se, Variance: 1},
		{Family: se, Lengthscales: []float64{0}, Variance: 1},
		{Family: se, Lengthscales: []float64{-1}, Variance: 1},
		{Family: se, Lengthscales: []float64{nan}, Variance: 1},
		{Family: se, Lengthscales: []float64{1e-320}, Variance: 1},
		{Family: se, Lengthscales: []float64{1}, Variance: nan},
		{Family: se, Lengthscales: []float64{1}, Variance: math.Inf(1)},
		{Family: se, Lengthscales: []float64{1}},
	} {
		if err := k.Validate(); err == nil {
			t.Errorf("%+v is valid", k)
		}
	}
}
