package model

import (
	"math/big"

	"github.com/pacsgp/pacsgp/model/loss"
)

// Exponential returns eˣ rounded to the nearest float64, the same on every platform, for |x| ≤ 300.
// Lengthscales and variance are stored as the exponential of a grid value by this function and no other, so
// that they follow from the index for which the bound pays.
func Exponential(x float64) float64 {
	e, _ := loss.Exp(exact(x)).Float64()
	return e
}

// exact returns x without rounding.
func exact(x float64) *big.Float {
	return new(big.Float).SetPrec(loss.Precision).SetFloat64(x)
}
