package kernel

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// A Family is a stationary covariance function of variance 1, as a function of the squared scaled distance t =
// Σ_j ((x_j − x'_j)/l_j)². Several goroutines may call its functions at the same time.
type Family struct {
	// Name is the name in jobs, model files and certificates.
	Name string
	// Profile is the same function for linalg, which computes blocks of values and of slopes in t.
	*linalg.Profile
	// Values replaces every t by the function's value there, with the same bits on every machine.
	Values func(t []float64)
	// Errors are the constants of the proven error bounds.
	Errors Errors
}

// Equal reports whether both families have the same name.
func (f Family) Equal(other Family) bool { return f.Name == other.Name }

// Errors are the constants of bounds on the rounding of values: docs/explanation/theory.md, section 10. A
// distance p is √(Stretch·t), with the profile's stretch.
type Errors struct {
	// For blocks. A distance that is off by Δ + δp moves a value v by at most (Shift·Δ + Scale·δ)·√v. Root and Last
	// count roundings in units of 2⁻⁵³: Root those of the distance, without those of the sum of squares, and Last
	// those of the value, without those of the distance. At distances beyond Vanish all values are below 2⁻⁴⁰⁰.
	Shift, Scale, Root, Last, Vanish float64
	// For [Kernel.Row]. At variance 1 a value is off by at most RowScale·(d + RowRoot) + RowLast units of 2⁻⁵³.
	RowScale, RowRoot, RowLast float64
}

// Families returns all families. The first is the default.
func Families() []*Family { return []*Family{SquaredExponential, Matern32, Matern52} }

// ErrFamily reports a name that no family has.
var ErrFamily = errors.New("kernel: unknown family")

// Named returns the family of that name.
func Named(name string) (*Family, error) {
	var known []string
	for _, f := range Families() {
		if f.Name == name {
			return f, nil
		}
		known = append(known, f.Name)
	}
	return nil, fmt.Errorf("%w %q, want one of %s", ErrFamily, name, strings.Join(known, ", "))
}

// A Kernel is the covariance function σ²·f(Σ_j ((x_j − x'_j)/l_j)²) in scaled units.
type Kernel struct {
	Family       *Family
	Lengthscales []float64 // [d], each > 0; an isotropic kernel repeats one value
	Variance     float64   // σ² > 0
}

// Dim returns the number d of inputs.
func (k Kernel) Dim() int { return len(k.Lengthscales) }

// Validate returns an error unless there is a family, and all parameters are positive and finite and have
// finite reciprocals.
func (k Kernel) Validate() error {
	usable := func(x float64) bool {
		return x > 0 && !math.IsInf(x, 1) && !math.IsInf(1/x, 1)
	}
	if k.Family == nil {
		return errors.New("kernel: parameter out of range: no family")
	}
	if len(k.Lengthscales) == 0 {
		return errors.New("kernel: parameter out of range: no lengthscales")
	}
	for j, l := range k.Lengthscales {
		if !usable(l) {
			return fmt.Errorf("kernel: parameter out of range: lengthscale %d is %g", j, l)
		}
	}
	if !usable(k.Variance) {
		return fmt.Errorf("kernel: parameter out of range: variance is %g", k.Variance)
	}
	return nil
}

// At returns k(x, z), as [Kernel.Row] computes it.
func (k Kernel) At(x, z []float64) float64 {
	var one [1]float64
	k.Row(one[:], x, z)
	return one[0]
}

// Row sets dst [n] to k(x, z_j) for the rows z_j of z [n×d], from direct differences. [Kernel.ErrorBound]
// bounds the error of each; the bits are the same on every machine.
func (k Kernel) Row(dst, x, z []float64) {
	d := len(k.Lengthscales)
	for j := range dst {
		q := 0.0
		for i, v := range z[j*d : (j+1)*d] {
			t := (x[i] - v) / k.Lengthscales[i]
			q += float64(t * t)
		}
		dst[j] = q //nolint:gosec // j is an index of dst
	}
	k.Family.Values(dst)
	for j := range dst {
		dst[j] *= k.Variance
	}
}

// ErrorBound returns an upper bound on |v − k(x, z)| for values v of [Kernel.Row]. It holds for all x and z for
// which no sum of squares overflows. With u = 2⁻⁵³ it is
//
//	σ² u (RowScale·(d + RowRoot) + RowLast)
//
// A difference, its quotient and its square carry (1+u)⁵ together at most, the sum of d such terms (1+u)^(d−1)
// more (fused or not), so the sum t has relative error at most (d+5)u to first order. A spare 2u covers all
// higher orders while d < 10⁶. RowScale, RowRoot and RowLast say what that does to the value.
func (k Kernel) ErrorBound() float64 {
	const u = 0x1p-53
	e := k.Family.Errors
	return k.Variance * u * (e.RowScale*(float64(len(k.Lengthscales))+e.RowRoot) + e.RowLast)
}
