package linalg

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// normPDF is the density alone.
func normPDF(dst, x []float64) { NormCDFPDF(make([]float64, len(x)), dst, x) }

var functions = []struct {
	name string
	call func(dst, x []float64)
	ulps float64 // stated error, in units in the last place of the true value
	one  func(x float64) float64
}{
	{"exp", Exp, 1.05, math.Exp},
	{"cdf", NormCDF, 4, func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }},
	{"pdf", normPDF, 2.3, func(x float64) float64 { return math.Exp(-0.5*x*x) / math.Sqrt(2*math.Pi) }},
}

// A vector is a point of testdata/functions.csv: f(x) = value + rest units in the
// last place.
type vector struct{ x, value, rest float64 }

func readVectors(t *testing.T) map[string][]vector {
	t.Helper()
	f, err := os.Open("testdata/functions.csv")
	fatal.If(t, err)
	defer func() { _ = f.Close() }()
	records, err := csv.NewReader(f).ReadAll()
	fatal.If(t, err)
	vectors := map[string][]vector{}
	for _, r := range records {
		var v [3]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(r[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		vectors[r[0]] = append(vectors[r[0]], vector{v[0], v[1], v[2]})
	}
	return vectors
}

// ulpError returns the distance of got from the true value in units in the last place
// of the value.
func ulpError(got float64, v vector) float64 {
	_, e := math.Frexp(v.value)
	unit := max(e-53, -1074)
	return math.Abs(math.Ldexp(got-v.value, -unit) - v.rest)
}

// TestFunctionVectors compares with 60 digits; see testdata/functions.py.
func TestFunctionVectors(t *testing.T) {
	vectors := readVectors(t)
	for _, f := range functions {
		x := NewMat(1, len(vectors[f.name]))
		for i, v := range vectors[f.name] {
			x.Data[i] = v.x
		}
		got := sameInAllSets(t, f.name, func(*Pool) Mat {
			out := NewMat(1, x.Cols)
			f.call(out.Data, x.Data)
			return out
		})
		worst, at := 0.0, 0.0
		for i, v := range vectors[f.name] {
			if e := ulpError(got.Data[i], v); !(e <= worst) {
				worst, at = e, v.x
			}
		}
		t.Logf("%s: %d vectors, worst error %.3f ulp at %g", f.name, len(vectors[f.name]), worst, at)
		if !(worst <= f.ulps) {
			t.Errorf("%s(%g) is off by %g ulp, want ≤ %g", f.name, at, worst, f.ulps)
		}
	}
}

func TestFunctionSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	x := []float64{nan, -inf, inf, 0, math.Copysign(0, -1), -math.MaxFloat64, math.MaxFloat64, 5e-324, -5e-324, -nan, 1e300, -1e300}
	want := map[string][]float64{
		"exp": {nan, 0, inf, 1, 1, 0, inf, 1, 1, nan, inf, 0},
		"cdf": {nan, 0, 1, 0.5, 0.5, 0, 1, 0.5, 0.5, nan, 1, 0},
		"pdf": {nan, 0, 0, pdf(0), pdf(0), 0, 0, pdf(0), pdf(0), nan, 0, 0},
	}
	withSets(t, func(t *testing.T) {
		for _, f := range functions {
			got := make([]float64, len(x))
			f.call(got, x)
			for i, w := range want[f.name] {
				if !sameBits(got[i], w) {
					t.Errorf("%s(%g) = %g, want %g", f.name, x[i], got[i], w)
				}
			}
		}
	})
}

// TestFunctionLengths: every length 0..66 at an odd position, with guards, in place and
// not, and each value the same as alone, also next to one that takes another path.
func TestFunctionLengths(t *testing.T) {
	r := newRand()
	rare := []float64{-740, 800, math.NaN(), 38.2, math.Inf(-1)}
	for _, f := range functions {
		for n := range 67 {
			x := randMat(r, 1, n, 0)
			if n > 8 {
				x.Data[r.IntN(n)] = rare[n%len(rare)]
			}
			sameInAllSets(t, fmt.Sprintf("%s n=%d", f.name, n), func(*Pool) Mat {
				out, in := randMat(newRand(), 1, n, 0), cloneWide(x)
				f.call(out.Data, x.Data)
				checkGuards(t, f.name, out)
				f.call(in.Data, in.Data)
				checkGuards(t, f.name+" in place", in)
				equalBits(t, f.name+" in place", in, out)
				for i := range n {
					alone := []float64{0}
					f.call(alone, x.Data[i:i+1])
					if !sameBits(alone[0], out.Data[i]) {
						t.Fatalf("%s(%g) = %g alone, %g at %d of %d", f.name, x.Data[i], alone[0], out.Data[i], i, n)
					}
				}
				return out
			})
		}
	}
}

func TestNormCDFPDF(t *testing.T) {
	r := newRand()
	for n := range 40 {
		x := randMat(r, 1, n, 0)
		sameInAllSets(t, "cdf and pdf", func(*Pool) Mat {
			out := NewMat(4, n)
			NormCDF(out.Row(0), x.Data)
			normPDF(out.Row(1), x.Data)
			NormCDFPDF(out.Row(2), out.Row(3), x.Data)
			equalBits(t, "both at once", out.Slice(2, 4, 0, n), out.Slice(0, 2, 0, n))
			copy(out.Row(3), x.Data)
			NormCDFPDF(out.Row(2), out.Row(3), out.Row(3))
			equalBits(t, "both instead of x", out.Slice(2, 4, 0, n), out.Slice(0, 2, 0, n))
			return out
		})
	}
}

// TestCDFMonotone: Φ does not fall by more than its error along a fine grid, and Φ(x) +
// Φ(−x) is 1.
func TestCDFMonotone(t *testing.T) {
	const n = 1 << 16
	x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = -39 + 48*float64(i)/n
		z[i] = -x[i]
	}
	NormCDF(y, x)
	NormCDF(z, z)
	for i := range x {
		if i > 0 && !(y[i] >= y[i-1]*(1-8*unit)) {
			t.Fatalf("Φ(%g) = %g after Φ(%g) = %g", x[i], y[i], x[i-1], y[i-1])
		}
		if s := y[i] + z[i]; !(math.Abs(s-1) <= 4*unit) {
			t.Fatalf("Φ(%g) + Φ(%g) = %g", x[i], -x[i], s)
		}
	}
}

func FuzzFunctions(f *testing.F) {
	for _, x := range []float64{0, 1, -1, 37, -38.4, 709.7, -745, math.Inf(1), math.NaN()} {
		f.Add(x, -x)
	}
	f.Fuzz(func(t *testing.T, x, y float64) {
		in := Mat{Rows: 1, Cols: 2, Stride: 2, Data: []float64{x, y}}
		for _, fn := range functions {
			got := sameInAllSets(t, fn.name, func(*Pool) Mat {
				out := NewMat(1, 2)
				fn.call(out.Data, in.Data)
				return out
			})
			for i, v := range in.Data {
				want := fn.one(v)
				// The plain formulas lose digits in −½x² and x/√2: relative error about
				// x²·u.
				tolerance := (8+math.Min(v*v, 2000))*4*unit*math.Abs(want) + 0x1p-1070
				if g := got.Data[i]; !(math.Abs(g-want) <= tolerance) && !sameBits(g, want) {
					t.Errorf("%s(%g) = %g, want %g", fn.name, v, g, want)
				}
			}
		}
	})
}
