package loss

import "math"

// All arithmetic of [Loss.Least] gives the same bits on every platform: no operation can be fused, and it uses
// no library function that differs between platforms.

// boundaryRoom is the share by which Least widens tolerances, so that a prediction on the boundary has the loss
// 0 however it is rounded.
const boundaryRoom = 1e-9

// leastRoom is what Least takes off continuous losses to cover their rounding.
const leastRoom = 0x1p-48

// expNegative returns exp(−x) for x ≥ 0 to within a few units in the last place, with the same bits on every
// platform: exp(−x) = 2⁻ᵏ exp(−r), |r| ≤ ½ ln 2, by Taylor's series, whose rest is below r¹⁴/14! < 2⁻⁵⁷.
func expNegative(x float64) float64 {
	const (
		high = 6.93147180369123816490e-01 // ln 2 = high + low; the product with a whole number below 2²⁰ is exact
		low  = 1.90821492927058770002e-10
	)
	if !(x < 700) {
		return 0
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := float64(x-float64(k*high)) - float64(k*low)
	sum := 1.0
	for i := 13.0; i >= 1; i-- {
		sum = 1 - float64(float64(r*sum)/i)
	}
	return math.Ldexp(sum, -int(k))
}
