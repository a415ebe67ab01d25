// Package kerneltest computes kernels with [loss.Precision] bits, for tests.
package kerneltest

import (
	"math/big"

	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

// Num returns x without rounding.
func Num(x float64) *big.Float { return new(big.Float).SetPrec(loss.Precision).SetFloat64(x) }

// Value returns the value of a family at t, with an error of a few units in the last bit.
func Value(f *kernel.Family, t *big.Float) *big.Float {
	if f == kernel.SquaredExponential {
		return loss.Exp(Num(0).Mul(t, Num(-0.5)))
	}
	a := Num(0).Mul(t, Num(f.Stretch)) // √(stretch·t)
	a.Sqrt(a)
	polynomial := Num(0).Add(Num(1), a)
	switch f {
	case kernel.Matern32:
	case kernel.Matern52:
		polynomial.Add(polynomial, Num(0).Quo(Num(0).Mul(a, a), Num(3)))
	default:
		panic("kerneltest: no exact values of " + f.Name)
	}
	return polynomial.Mul(polynomial, loss.Exp(Num(0).Neg(a)))
}

// Squares returns t = Σ((x_j − z_j)/l_j)².
func Squares(x, z, lengthscales []float64) *big.Float {
	sum := Num(0)
	for j := range x {
		t := Num(0).Sub(Num(x[j]), Num(z[j]))
		t.Quo(t, Num(lengthscales[j]))
		sum.Add(sum, t.Mul(t, t))
	}
	return sum
}

// At returns k(x, z).
func At(k kernel.Kernel, x, z []float64) *big.Float {
	return Num(0).Mul(Value(k.Family, Squares(x, z, k.Lengthscales)), Num(k.Variance))
}
