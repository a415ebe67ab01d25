package kernel

import "github.com/pacsgp/pacsgp/model/internal/linalg"

// SquaredExponential is exp(−t/2).
//
// Errors of a row: t is off by (d+7)u relatively, which moves exp(−t/2) by at most max_s s·exp(−s)·(d+7)u =
// (d+7)u/e, and 2.7 < e. linalg.Exp errs by less than 1.1 units in the last place (2.2u), the product with σ²
// by u, and underflow by less than u; the rest is slack.
var SquaredExponential = &Family{
	Name:    "squared-exponential",
	Profile: linalg.SquaredExponential,
	Values: func(t []float64) {
		for j := range t {
			t[j] *= -0.5
		}
		linalg.Exp(t, t)
	},
	Errors: Errors{
		Shift: 1.25, Scale: 1.5, Root: 0, Last: 3.4, Vanish: 20,
		RowScale: 1 / 2.7, RowRoot: 7, RowLast: 6,
	},
}
