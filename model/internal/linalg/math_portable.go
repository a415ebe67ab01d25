package linalg

import "math"

// The formulas of constants.go in plain Go. The conversions float64(…) keep the compiler from fusing where the
// formula does not.

// reduce returns n = round(8x/ln 2)/8, the T_j for the last three bits of 8n, and r = x − n·ln 2.
func reduce(x float64) (n, power, r float64) {
	t := math.FMA(x, scalars[log2E], scalars[roundEighth])
	n = t - scalars[roundEighth]
	r = math.FMA(-n, scalars[ln2High], x)
	return n, expTable[math.Float64bits(t)&7], math.FMA(-n, scalars[ln2Low], r)
}

// expSmall returns power·exp(r) for |r| ≤ ln 2/16 and a little more.
func expSmall(power, r float64) float64 {
	c := scalars[expCoefficients : expCoefficients+6 : expCoefficients+6]
	r2 := float64(r * r)
	high := math.FMA(math.FMA(c[0], r, c[1]), r2, math.FMA(c[2], r, c[3]))
	p := math.FMA(math.FMA(high, r2, math.FMA(c[4], r, c[5])), r2, r)
	return math.FMA(power, p, power)
}

// scaleBy returns p·2^⌊n⌋, rounded once. Exponents beyond those of normal numbers take two steps, the first of
// which is exact.
func scaleBy(p, n float64) float64 {
	n = math.Floor(n)
	power := func(n float64) float64 {
		return math.Float64frombits(math.Float64bits(n+scalars[roundInt])<<52 + math.Float64bits(1))
	}
	if n >= -1022 && n <= 1023 {
		return p * power(n)
	}
	h := math.Floor(n / 2)
	return float64(p*power(h)) * power(n-h)
}

func exp(x float64) float64 {
	// Written so that NaN passes both comparisons unchanged.
	if x > scalars[expMax] {
		x = scalars[expMax]
	}
	if x < scalars[expMin] {
		x = scalars[expMin]
	}
	n, power, r := reduce(x)
	return scaleBy(expSmall(power, r), n)
}

// gauss returns t = min(|x|, normalMax) and exp(−t²/2) as p·2^⌊n⌋.
func gauss(x float64) (t, p, n float64) {
	t = math.Abs(x)
	if t > scalars[normalMax] {
		t = scalars[normalMax]
	}
	h := float64(t * t)
	low := math.FMA(t, t, -h)
	n, power, r := reduce(float64(-0.5 * h))
	return t, expSmall(power, math.FMA(low, -0.5, r)), n
}

// chains returns the polynomial of degree 9 at x whose coefficients begin at first in scalars, as the sum of
// its even and its odd terms. x2 is x².
func chains(first int, x, x2 float64) float64 {
	c := scalars[first : first+10 : first+10]
	odd, even := c[0], c[1]
	for i := 2; i < 10; i += 2 {
		odd, even = math.FMA(odd, x2, c[i]), math.FMA(even, x2, c[i+1])
	}
	return math.FMA(odd, x, even)
}

// tailRatio returns Φ(−t)/exp(−t²/2) for t ≥ 0. remainder corrects the quotient inv, also for low, the rounding
// error of the sum (which is exact for t ≤ 4).
func tailRatio(t float64) float64 {
	sum := t + scalars[four]
	inv := 1 / sum
	low := t - (sum - scalars[four])
	remainder := float64(inv * math.FMA(-low, inv, math.FMA(-sum, inv, 1)))
	s := math.FMA(scalars[minusEight], inv, 1)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	g := math.FMA(chains(cdfOdd, s2, s4), s, chains(cdfEven, s2, s4))
	s = math.FMA(scalars[minusEight], remainder, s)
	for _, c := range scalars[cdfLow : cdfLow+3] {
		g = math.FMA(g, s, c)
	}
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

// each returns the function that applies f to each element.
func each(f func(x float64) float64) func(dst, x []float64) {
	return func(dst, x []float64) {
		for i, v := range x {
			dst[i] = f(v)
		}
	}
}

func cdfPDFPortable(c, p, x []float64) {
	for i, v := range x {
		c[i], p[i] = cdf(v), pdf(v)
	}
}
