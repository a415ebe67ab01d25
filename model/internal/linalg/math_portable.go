package linalg

import "math"

// The formulas of constants.go in plain Go. The conversions float64(…) keep the
// compiler from fusing where the formula does not.

func polynomial(first, terms int, x float64) float64 {
	s := scalars[first]
	for _, c := range scalars[first+1 : first+terms] {
		s = math.FMA(s, x, c)
	}
	return s
}

// reduce returns n = round(x/ln 2) and x − n·ln 2.
func reduce(x float64) (n, r float64) {
	n = math.FMA(x, scalars[log2E], scalars[roundInt]) - scalars[roundInt]
	r = math.FMA(-n, scalars[ln2High], x)
	return n, math.FMA(-n, scalars[ln2Low], r)
}

// expSmall returns exp(r) for |r| ≤ ln 2/2 and a little more.
func expSmall(r float64) float64 {
	q := polynomial(expCoefficients, 10, r)
	return math.FMA(float64(r*r), q, r) + 1
}

// scaleBy returns p·2ⁿ, in two steps of which the first is exact.
func scaleBy(p, n float64) float64 {
	h := math.FMA(n, 0.5, scalars[roundInt])
	rest := n - (h - scalars[roundInt]) + scalars[roundInt]
	power := func(v float64) float64 { return math.Float64frombits(math.Float64bits(v)<<52 + math.Float64bits(1)) }
	return float64(float64(p*power(h)) * power(rest))
}

func exp(x float64) float64 {
	// Written so that NaN goes through.
	if x > scalars[expMax] {
		x = scalars[expMax]
	}
	if x < scalars[expMin] {
		x = scalars[expMin]
	}
	n, r := reduce(x)
	return scaleBy(expSmall(r), n)
}

// gauss returns t = min(|x|, normalMax) and exp(−t²/2) as p·2ⁿ.
func gauss(x float64) (t, p, n float64) {
	t = math.Abs(x)
	if t > scalars[normalMax] {
		t = scalars[normalMax]
	}
	h := float64(t * t)
	low := math.FMA(t, t, -h)
	n, r := reduce(float64(-0.5 * h))
	return t, expSmall(math.FMA(low, -0.5, r)), n
}

// tailRatio returns Φ(−t)/exp(−t²/2) for t ≥ 0. The remainder of the quotient inv
// counts the rounding of the sum too, which is low (exactly so for t ≤ 4).
func tailRatio(t float64) float64 {
	sum := t + scalars[four]
	inv := 1 / sum
	low := t - (sum - scalars[four])
	remainder := float64(inv * math.FMA(-low, inv, math.FMA(-sum, inv, 1)))
	s := math.FMA(scalars[minusEight], remainder, math.FMA(scalars[minusEight], inv, 1))
	s2 := float64(s * s)
	g := math.FMA(polynomial(cdfOdd, 10, s2), s, polynomial(cdfEven, 10, s2))
	for _, c := range scalars[cdfLow : cdfLow+3] {
		g = math.FMA(g, s, c)
	}
	g = float64(scalars[four] * g)
	return math.FMA(g, inv, float64(g*remainder))
}

func cdf(x float64) float64 {
	t, p, n := gauss(x)
	tail := scaleBy(float64(p*tailRatio(t)), n)
	if math.Signbit(x) {
		return tail
	}
	return 1 - tail
}

func pdf(x float64) float64 {
	_, p, n := gauss(x)
	return scaleBy(float64(p*scalars[rootTwoPi]), n)
}

func expPortable(dst, x []float64) {
	for i, v := range x {
		dst[i] = exp(v)
	}
}

func cdfPortable(dst, x []float64) {
	for i, v := range x {
		dst[i] = cdf(v)
	}
}

func pdfPortable(dst, x []float64) {
	for i, v := range x {
		dst[i] = pdf(v)
	}
}

func cdfPDFPortable(c, p, x []float64) {
	for i, v := range x {
		c[i], p[i] = cdf(v), pdf(v)
	}
}

const portableKernelCols = 8

// kernelPortable is one panel of the kernel block.
func kernelPortable(rows, d int, x []float64, ldx int, z, inv []float64, lddst int, variance float64, dst []float64) {
	const cols = portableKernelCols
	for i := range rows {
		row, out := x[i*ldx:i*ldx+d], dst[i*lddst:i*lddst+cols]
		for j := range out {
			s := 0.0
			for k, v := range row {
				t := float64((v - z[k*cols+j]) * inv[k])
				s = math.FMA(t, t, s)
			}
			out[j] = float64(variance * exp(float64(-0.5*s)))
		}
	}
}
