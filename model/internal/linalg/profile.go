package linalg

import "math"

// A Profile says how a stationary kernel of variance 1 falls with the scaled distance r, as a function of p =
// r·√Stretch. A set may have assembly for it in its panels; otherwise At computes blocks.
type Profile struct {
	Stretch float64 // > 0
	// Steepness is −2 times the derivative in r² at r = 0.
	Steepness float64
	// SlopeIsValue says that −2 times the derivative in r² equals the value everywhere.
	SlopeIsValue bool
	// At returns, for sum = −p² ≤ 0, the value, and −2 times its derivative in r² divided by Steepness. The
	// bits are the same on every machine, and those of every set's blocks. NaN gives NaN.
	At func(sum float64) (value, slope float64)
}

// The profiles that have assembly. SquaredExponential is exp(−r²/2); Matern32 is (1 + p)·exp(−p), p = √3·r;
// Matern52 is (1 + p + p²/3)·exp(−p), p = √5·r.
var (
	SquaredExponential = &Profile{Stretch: 0.5, Steepness: 1, SlopeIsValue: true, At: func(sum float64) (value, slope float64) {
		e := decay(sum)
		return e, e
	}}
	Matern32 = &Profile{Stretch: 3, Steepness: 3, At: func(sum float64) (value, slope float64) {
		p, e := rootDecay(sum)
		return (1 + p) * e, e
	}}
	Matern52 = &Profile{Stretch: 5, Steepness: 5.0 / 3, At: func(sum float64) (value, slope float64) {
		p, e := rootDecay(sum)
		return math.FMA(p, math.FMA(p, scalars[third], 1), 1) * e, (1 + p) * e
	}}
)

// decay returns exp(t) for t ≤ 0. It errs by at most 1.02 units in the last place, plus 2⁻⁴⁹⁷, and is 0 for t ≤
// −345. The bits are the same on every machine.
func decay(t float64) float64 {
	if t < scalars[kernelMin] { // not for NaN
		t = scalars[kernelMin]
	}
	n, power, r := reduce(t)
	return scaleBy(expSmall(power, r), n) - scalars[kernelFloor]
}

// rootDecay returns, for sum = −p², p and [decay](−p). Where decay is 0, p is 345.
func rootDecay(sum float64) (p, e float64) {
	t := -math.Sqrt(-sum)
	if t < scalars[kernelMin] { // not for NaN
		t = scalars[kernelMin]
	}
	return -t, decay(t)
}

// kernelGroup is the number of rows that a set's kernel computes in one step.
const kernelGroup = 4

// squaresCols divides the width of a panel of a kernel block. Loops of a constant length need no checks of bounds.
const squaresCols = 8

// squares sets a panel of dst to −Σ(x−z)², from packed rows of x and a packed panel of z.
func squares(rows, d, cols int, x, z []float64, lddst int, dst []float64) {
	for i := range rows {
		group := x[i/kernelGroup*kernelGroup*d+i%kernelGroup:]
		for first := 0; first < cols; first += squaresCols {
			var sums [squaresCols]float64
			for k := range d {
				v := group[k*kernelGroup]
				at := k*cols + first
				for j, w := range z[at : at+squaresCols] {
					t := v - w
					sums[j] = math.FMA(-t, t, sums[j])
				}
			}
			copy(dst[i*lddst+first:], sums[:])
		}
	}
}

// apply converts a panel of [squares] into values and, unless slope is nil, slopes.
func (f *Profile) apply(rows, cols, stride int, variance, steep float64, dst, slope []float64) {
	at := f.At
	for i := range rows {
		row := dst[i*stride : i*stride+cols]
		if slope == nil {
			for j, sum := range row {
				value, _ := at(sum)
				row[j] = variance * value
			}
			continue
		}
		slopes := slope[i*stride : i*stride+cols]
		for j, sum := range row {
			value, s := at(sum)
			row[j], slopes[j] = variance*value, steep*s
		}
	}
}
