package certify

import (
	"fmt"
	"math"
	"math/big"
)

// BinomialUpper returns an upper bound, with confidence 1 − δ·share, on the probability p of each of n
// independent events, of which k happened. It is not below the upper limit of Clopper and Pearson,
//
//	sup { p : P(at most k of n) ≥ δ·share },
//
// because at the returned float64 the tail is proven to be smaller than δ·share. It is above the limit by less
// than 10⁻¹² of it for n below 10⁹ and δ below ½, and never above Chernoff's bound (docs/explanation/theory.md,
// 13). It is 1 for k = n. Numbers out of range, NaN included, are an error.
func BinomialUpper(k, n int64, delta float64, share Share) (float64, error) {
	if n < 1 || k < 0 || k > n {
		return 0, fmt.Errorf("certify: %d losses of %d examples", k, n)
	}
	if err := (Terms{N: n, Delta: delta, Share: share}).validate(); err != nil {
		return 0, fmt.Errorf("certify: binomial limit: %w", err)
	}
	rest, err := lnInverseDelta(delta, share)
	if err != nil {
		return 0, fmt.Errorf("certify: binomial limit: %w", err)
	}
	if k == n {
		return 1, nil
	}
	threshold := exact(rest)
	threshold.Neg(threshold)
	choose := lnChoose(n, k)
	// Chernoff's bound is never below the limit. It is the result if the tail is too long to sum.
	mean, exactly := new(big.Rat).SetFrac64(k, n).Float64()
	if !exactly {
		mean = math.Nextafter(mean, 1)
	}
	high := KLInverse(mean, perExample(exact(rest), n))
	return narrowed(mean, high, func(p float64) bool { return tailBelow(k, n, p, choose, threshold) }), nil
}

// narrowed returns a number in [low, high] that passes. It halves the interval until it is shorter than 2⁻⁴² of
// its upper end, and returns that end. The first high must be known to pass; every later one is tested.
func narrowed(low, high float64, passes func(p float64) bool) float64 {
	for high-low > 0x1p-42*high {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			break
		}
		if passes(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// tailBelow reports whether ln P(at most k of n) is proven to be below the threshold, for 0 < p < 1 and k < n.
// choose is an upper bound on ln C(n,k).
//
// With t_j the probability of exactly j, t_{j−1} = r_j t_j and r_j = j(1−p)/((n−j+1)p), which falls with j: the
// rest of the sum after t_j is at most t_j·r_j/(1−r_j).
func tailBelow(k, n int64, p float64, choose, threshold *big.Float) bool {
	const bits = 128 // of the sum: each of its steps errs by less than 2⁻¹²⁵
	q := empty().Sub(exact(1), exact(p))
	ln1 := empty().Mul(exactInt(k), ln(exact(p)))
	ln1.Add(ln1, empty().Mul(exactInt(n-k), ln(q)))
	below := func(sum *big.Float) bool {
		total := empty().Add(choose, ln1)
		total.Add(total, ln(sum))
		// The logarithms are below 2⁶³·2¹¹ and err by less than 2⁻²⁴⁰ of themselves.
		total.Add(total, pow2(-150))
		return total.Cmp(threshold) < 0
	}
	switch rough, known := roughTail(k, n, p); {
	case known && (rough == 0 || !below(exact(rough*(1-2*roughly)))):
		return false
	case known && below(exact(rough*(1+2*roughly))):
		return true
	}
	short := func() *big.Float { return new(big.Float).SetPrec(bits) }
	odds := short().Quo(q, exact(p))
	sum, term, ratio, part := short().SetInt64(1), short().SetInt64(1), short(), new(big.Float).SetPrec(64)
	one := exact(1)
	for j := k; j > 0; j-- {
		ratio.Mul(odds, part.SetInt64(j))
		ratio.Quo(ratio, part.SetInt64(n-j+1))
		if k-j > tailSteps || ratio.Cmp(one) >= 0 {
			return false
		}
		term.Mul(term, ratio)
		sum.Add(sum, term)
		if term.MantExp(nil) < sum.MantExp(nil)-100 { // add a bound on the rest, which is small unless the ratio is near 1
			left := short().Quo(ratio, short().Sub(one, ratio))
			sum.Add(sum, left.Mul(left, term))
			break
		}
	}
	return below(widen(empty().Set(sum), -60)) // at most 2¹⁸ steps of four roundings each
}

const (
	tailSteps = 1 << 18 // a tail with more terms is not summed: the result is false
	roughly   = 0x1p-30 // ≥ the relative error of a sum in float64, whose steps err by less than 2⁻⁵⁰ each
)

// roughTail returns the sum of tailBelow with a relative error of at most [roughly], or 0 for a tail that is not
// summed. known is false where rounding leaves open whether it is.
func roughTail(k, n int64, p float64) (_ float64, known bool) {
	odds, term, sum := (1-p)/p, 1.0, 1.0
	for j := k; j > 0; j-- {
		ratio := odds * float64(j) / float64(n-j+1)
		switch {
		case ratio > 1-0x1p-50:
			return 0, false
		case k-j > tailSteps:
			return 0, math.Ilogb(term*(1-roughly)) >= math.Ilogb(sum*(1+roughly))-100
		}
		term *= ratio
		if sum += term; math.Ilogb(term*(1+roughly)) < math.Ilogb(sum*(1-roughly))-100 {
			return sum, true
		}
	}
	return sum, true
}

// lnChoose returns an upper bound on ln C(n,k) for 0 ≤ k ≤ n, too high by less than 10⁻²⁴.
func lnChoose(n, k int64) *big.Float {
	_, up := lnFactorial(n)
	low1, _ := lnFactorial(k)
	low2, _ := lnFactorial(n - k)
	up.Sub(up, low1)
	up.Sub(up, low2)
	return up.Add(up, pow2(-150)) // three numbers below 2⁷⁰, each rounded with a relative error of 2⁻²⁵⁶
}

// lnTwoPiHalvesText is ½ ln 2π, cut after 60 digits.
const lnTwoPiHalvesText = "0.918938533204672741780329736405617639861397473637783412817151"

// lnFactorial returns a lower and an upper bound on ln n!, less than 10⁻²⁵ apart. For n < 64 they come from the
// product, above from Stirling's series, whose partial sums are alternately too high and too low
// (docs/explanation/theory.md, 13).
func lnFactorial(n int64) (low, up *big.Float) {
	const small = 64
	room, x := pow2(-150), empty() // far above the rounding of every logarithm below
	if n < small {
		product := new(big.Int).MulRange(1, max(1, n))
		x = ln(empty().SetInt(product)) // more than 256 bits are rounded, with a relative error of 2⁻²⁵⁶
		return empty().Sub(x, room), empty().Add(x, room)
	}
	half, _, err := big.ParseFloat(lnTwoPiHalvesText, 10, precision, big.ToNearestEven)
	if err != nil {
		panic("certify: lnTwoPiHalvesText is no number: " + err.Error())
	}
	m := exactInt(n)
	x.Mul(empty().Add(m, exact(0.5)), ln(m))
	x.Sub(x, m)
	x.Add(x, half)
	// Coefficients B_2j/(2j(2j−1)). Only the upper bound has the last term.
	series := [...][2]int64{{1, 12}, {-1, 360}, {1, 1260}, {-1, 1680}, {1, 1188}, {-691, 360360}, {1, 156}}
	square := empty().Mul(m, m)
	power := empty().Set(m)
	low = empty()
	for i, c := range series {
		if i == len(series)-1 {
			low.Set(x)
		}
		x.Add(x, empty().Quo(exactInt(c[0]), empty().Mul(power, exactInt(c[1]))))
		power.Mul(power, square)
	}
	return low.Sub(low, room), x.Add(x, room)
}
