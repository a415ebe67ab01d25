package certify

import (
	"math"
	"math/big"
)

// klError bounds the error of relativeEntropy: |computed − exact| < 2⁻²²⁰ (docs/explanation/theory.md, 4).
const klError = -220

// relativeEntropy returns the relative entropy of two Bernoulli distributions, in nats,
//
//	kl(q‖p) = q ln(q/p) + (1−q) ln((1−q)/(1−p)),  0 ln 0 = 0,
//
// for 0 ≤ q ≤ 1 and 0 < p < 1, with an absolute error below 2^klError.
func relativeEntropy(q, p float64) *big.Float {
	sum := empty()
	if q > 0 {
		a := exact(q)
		sum.Add(sum, empty().Mul(a, ln(empty().Quo(a, exact(p)))))
	}
	if q < 1 {
		one := exact(1)
		b := empty().Sub(one, exact(q))
		sum.Add(sum, empty().Mul(b, ln(empty().Quo(b, empty().Sub(one, exact(p))))))
	}
	return sum
}

// KLInverse returns an upper bound on
//
//	sup { p ∈ [q, 1] : kl(q‖p) ≤ c }
//
// It is never below the supremum, and above it by at most one unit in the last place for c ≥ 2⁻¹⁰⁰
// (docs/explanation/theory.md, 5): the computed kl(q‖p), less a bound on its rounding error, reaches c at the
// result and not at its lower neighbour. It is q for c = 0, and 1 for q = 1 or c = +Inf. It requires 0 ≤ q ≤ 1
// and c ≥ 0, and panics otherwise, NaN included.
func KLInverse(q, c float64) float64 {
	if !(0 <= q && q <= 1 && c >= 0) { // written so that NaN fails
		panic("certify: KLInverse argument out of range")
	}
	if c == 0 || q == 1 {
		return q
	}
	if math.IsInf(c, 1) {
		return 1
	}
	return bracket(q, c)
}

// bracket moves inner, where kl(q‖·) is not proven to reach c, and outer, where it is, towards each other until
// they are neighbouring float64 numbers, and returns outer. Only a tested value becomes outer, except for the
// first, which is 1.
//
// It tries Newton's step from the best value so far. If the step leaves the bracket, or the step before gained
// less than a factor of two, it halves the number of float64 between the ends. Every step moves an end, so that
// the loop ends; it takes about ten steps.
func bracket(q, c float64) float64 {
	inner, outer := q, 1.0
	target := empty().Add(exact(c), pow2(klError))
	least := math.Inf(1)           // |kl − target| at the best value
	proposal := q + math.Sqrt(c/2) // by Pinsker's inequality
	for newton := true; ; {
		a, b := math.Float64bits(inner), math.Float64bits(outer)
		if b-a <= 1 {
			return outer
		}
		p := math.Float64frombits(a + (b-a)/2)
		if newton = newton && inner < proposal && proposal < outer; newton {
			p = proposal
		}
		over := relativeEntropy(q, p)
		over.Sub(over, target)
		other := inner
		if over.Sign() >= 0 {
			outer = p
		} else {
			inner, other = p, outer
		}
		excess, _ := over.Float64()
		newton = !newton || math.Abs(excess) <= least/2
		if math.Abs(excess) < least {
			slope := float64(p-q) / float64(p*float64(1-p)) // the conversions prevent fused operations
			least, proposal = math.Abs(excess), p-float64(excess/slope)
		}
		if proposal == p {
			proposal = math.Nextafter(p, other)
		}
	}
}
