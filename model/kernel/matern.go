package kernel

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// Matern32 is (1 + a)·exp(−a), a = √(3t). Its functions have one derivative.
//
// Errors of a row: t is off by (d+7)u relatively and its product with 3 by another u; the root halves this and
// adds a rounding, so that a is off by δ = (d+10)u/2. That moves f = (1+a)·exp(−a) by at most δ·max a|f′| =
// δ·max a²·exp(−a) = 4δ/e² < 0.542δ. The sum, exp and two products err by 5.2u.
var Matern32 = &Family{
	Name:    "matern-3/2",
	Profile: linalg.Matern32,
	Values:  func(t []float64) { matern(t, 3, func(a float64) float64 { return 1 + a }) },
	Errors: Errors{
		Shift: 0.46, Scale: 1.03, Root: 1, Last: 5.4, Vanish: 300,
		RowScale: 0.28, RowRoot: 10, RowLast: 7,
	},
}

// Matern52 is (1 + a + a²/3)·exp(−a), a = √(5t). Its functions have two derivatives.
//
// Errors of a row: as for [Matern32], with max a|f′| = max (a²+a³)/3·exp(−a) < 0.605, at a = 1 + √3, and 8.2u
// for the polynomial, exp and two products.
var Matern52 = &Family{
	Name:    "matern-5/2",
	Profile: linalg.Matern52,
	Values:  func(t []float64) { matern(t, 5, func(a float64) float64 { return 1 + float64(a*(1+a/3)) }) },
	Errors: Errors{
		Shift: 0.37, Scale: 1.15, Root: 1, Last: 7.4, Vanish: 300,
		RowScale: 0.31, RowRoot: 10, RowLast: 10,
	},
}

// matern replaces every t by polynomial(a)·exp(−a), a = √(stretch·t). It cuts a at a size where this is 0, so
// that 0·∞ does not occur.
func matern(t []float64, stretch float64, polynomial func(a float64) float64) {
	const farthest = 800
	var distances, powers [64]float64
	for len(t) > 0 {
		n := min(len(t), len(distances))
		a, e := distances[:n], powers[:n]
		for i, q := range t[:n] {
			a[i] = min(math.Sqrt(stretch*q), farthest)
			e[i] = -a[i]
		}
		linalg.Exp(e, e)
		for i := range e {
			t[i] = polynomial(a[i]) * e[i]
		}
		t = t[n:]
	}
}
