package certify

import (
	"math"
	"math/big"
	"slices"
	"sort"
	"sync/atomic"
)

// A band bounds the probability that a draw exceeds a threshold, for all thresholds at once, from the number k
// of n independent draws that exceed it (Berk and Jones 1979, one-sided; docs/explanation/theory.md, 19). The
// bound for k is the limit at the first rank that is at least k. Ranks follow from n. Each limit is Clopper and
// Pearson's upper limit at its rank, all at one local level.
type band struct {
	level  float64   // of every limit; 0 for an empty band, whose bounds are all 1
	ranks  []int64   // ascending, from 0 to ⌊n/2⌋
	limits []float64 // one for each rank, ascending
}

const (
	ranksPerDouble = 256     // the rank after k is k + max(1, ⌊k/ranksPerDouble⌋)
	mostDraws      = 1 << 17 // with more draws there are fewer ranks, and the level is that of a union bound over them
	fewRanks       = 64      // replaces ranksPerDouble for more than mostDraws draws
	leastDigits    = 20      // a part of δ below 10^−leastDigits, or below 10⁻ⁿ, gives an empty band
	mostRows       = 1e9     // more draws give an empty band
	bandRoom       = 0x1p-20 // the computed crossing probability must be below the part of δ by this share
	ratiosPerTwo   = 16      // the tried ratios δ/level are powers of 2^(1/ratiosPerTwo)
)

// bandRanks returns the ranks of a band for n draws.
func bandRanks(n int64) (ranks []int64) {
	last, per := n/2, int64(ranksPerDouble)
	if n > mostDraws {
		per = fewRanks
	}
	for k := int64(0); k < last; k += max(1, k/per) {
		ranks = append(ranks, k)
	}
	return append(ranks, last)
}

// lastBand is the band made last. It saves time because a document is derived several times.
var lastBand atomic.Pointer[madeBand]

// A madeBand is a band with the arguments of newBand that gave it.
type madeBand struct {
	n    int64
	part float64
	*band
}

// leastPart returns the least part of δ with a band for n draws that is not empty; +Inf if there is none. Below
// 10⁻ⁿ all limits would be above 0.9, and some too near 1 for a float64.
func leastPart(n int64) float64 {
	if n > mostRows {
		return math.Inf(1)
	}
	return math.Pow10(-int(min(n, leastDigits)))
}

// newBand returns a band for n draws that fails with probability at most part, which is a part of δ. It is
// empty for a part below [leastPart].
func newBand(n int64, part float64) *band {
	if last := lastBand.Load(); last != nil && last.n == n && last.part == part {
		return last.band
	}
	b := &band{}
	if part >= leastPart(n) {
		b = newTails(n, bandRanks(n)).widest(part)
	}
	lastBand.Store(&madeBand{n, part, b})
	return b
}

// limit returns the upper bound for a threshold that k draws exceed. It is 1 for k above the last rank.
func (b *band) limit(k int64) float64 {
	i, _ := slices.BinarySearch(b.ranks, k)
	if i == len(b.ranks) {
		return 1
	}
	return b.limits[i]
}

// tails holds the numbers of a band that do not depend on its level.
type tails struct {
	n      int64
	ranks  []int64
	choose []float64 // ln C(n,k) at each rank k
	fallen []float64 // ln n!/((n−k)! nᵏ) at each rank k
}

func newTails(n int64, ranks []int64) *tails {
	t := &tails{n: n, ranks: ranks}
	_, whole := lnFactorial(n)
	lnN := ln(exactInt(n))
	for _, k := range ranks {
		above, _ := lnFactorial(n - k)
		below, _ := lnFactorial(k)
		x := empty().Sub(whole, above)
		fallen, _ := empty().Sub(x, empty().Mul(exactInt(k), lnN)).Float64()
		choose, _ := x.Sub(x, below).Float64()
		t.choose, t.fallen = append(t.choose, choose), append(t.fallen, fallen)
	}
	return t
}

// widest returns a band that is proven to fail with probability at most part. Its level is the largest such
// part/q, q a power of 2^(1/16), or for more than mostDraws draws that of a union bound over the ranks.
func (t *tails) widest(part float64) *band {
	at := func(level float64) *band { return &band{level, t.ranks, t.limits(level)} }
	if t.n > mostDraws { // the union bound, with room for the error of limits
		return at(part / float64(len(t.ranks)+1))
	}
	passes := func(ratio int) bool {
		return t.crossing(t.limits(part/ratioOf(ratio)), part)*(1+bandRoom) <= part // written so that NaN fails
	}
	// The search for the least ratio starts at 2 ln n ln ln n, which is usually a little too high.
	ln1 := max(1, lnFloat(float64(t.n)))
	high := 0
	for ratioOf(high) < 2*ln1*max(0.5, lnFloat(ln1)) {
		high++
	}
	for !passes(high) { // ends at the latest at the ratio of the union bound: see leastPart
		high += ratiosPerTwo
	}
	return at(part / ratioOf(sort.Search(high, passes)))
}

// ratioOf returns 2^(i/16), with its mantissa rounded to four decimals.
func ratioOf(i int) float64 {
	return math.Ldexp([ratiosPerTwo]float64{
		1, 1.0443, 1.0905, 1.1388, 1.1892, 1.2419, 1.2968, 1.3543, 1.4142, 1.4768, 1.5422, 1.6105, 1.6818, 1.7562, 1.834, 1.9152,
	}[i%ratiosPerTwo], i/ratiosPerTwo)
}

// limits returns, for each rank k, the p with P(at most k of n) = level, with a relative error of some 10⁻¹³.
// The proof does not depend on this error: crossing uses the limits as they are, and the level of the union
// bound leaves room for it.
//
// It takes Newton's steps on ln P, which falls in p and is concave: all but the first stay on one side.
func (t *tails) limits(level float64) []float64 {
	limits, target := make([]float64, len(t.ranks)), lnFloat(level)
	p := 0.5
	for i, k := range t.ranks {
		mean := float64(k) / float64(t.n)
		if i > 0 {
			p = limits[i-1] + (mean - float64(t.ranks[i-1])/float64(t.n))
		}
		for range 100 {
			sum := t.sum(k, p)
			at := t.choose[i] + float64(float64(k)*lnFloat(p)) + float64(float64(t.n-k)*ln1mFloat(p)) + lnFloat(sum)
			next := p + (at-target)*(1-p)*sum/float64(t.n-k)
			next = min(max(next, mean+(p-mean)/2), p+(1-p)/2)
			done := math.Abs(next-p) <= 0x1p-50*p
			if p = next; done {
				break
			}
		}
		limits[i] = p
	}
	return limits
}

// sum returns P(at most k of n)/P(k of n) for draws that exceed a threshold with probability p > k/n.
func (t *tails) sum(k int64, p float64) float64 {
	odds := (1 - p) / p
	sum, term := 1.0, 1.0
	for j := k; j > 0 && term > 0x1p-60*sum; j-- {
		term = term * (float64(j) * odds) / float64(t.n-j+1)
		sum += term
	}
	return sum
}

// crossing returns the probability that, for some rank k = ranks[i], at most k of n independent uniform numbers
// are at most limits[i]. It returns +Inf if the limits do not rise within (0, 1). The result may be too low by
// a share of 10⁻⁷, for which widest leaves room.
//
// The uniform numbers are the points of a Poisson process of rate n on [0, 1], given that it has n points. The
// loop carries, from limit to limit, the probabilities of the counts that have not failed so far. All terms are
// positive, so that rounding errors stay relative; dropped terms count as failures.
func (t *tails) crossing(limits []float64, part float64) float64 {
	n, cut := float64(t.n), part*0x1p-80
	least, alive := 0, []float64{1} // alive[j] is the probability of least+j points up to at and no failure
	var next []float64
	var failed, dropped, at float64
	for i, limit := range limits {
		if !(at < limit && limit < 1) {
			return math.Inf(1)
		}
		from, kernel, lost := poisson(n*(limit-at), cut)
		dropped += lost
		next = slices.Grow(next[:0], len(alive)+len(kernel)-1)[:len(alive)+len(kernel)-1]
		clear(next)
		for a, x := range alive {
			to := next[a : a+len(kernel)]
			for j, y := range kernel {
				to[j] += float64(x * y)
			}
		}
		least, at = least+from, limit
		k := int(t.ranks[i])
		// weight is P(n points in all, given m up to limit)/P(n points in all), for the counts m from k down.
		weight := portableExp(t.fallen[i] + float64(n*limit) + float64((n-float64(k))*ln1mFloat(limit)))
		for m := k; m >= least; m-- {
			if m-least < len(next) {
				failed += float64(next[m-least] * weight)
			}
			weight = weight * (1 - limit) * n / (n - float64(m) + 1)
		}
		gone := min(len(next), max(0, k+1-least))
		for gone < len(next) && next[gone] < cut {
			dropped += next[gone]
			gone++
		}
		least, next = least+gone, next[gone:]
		for len(next) > 0 && next[len(next)-1] < cut {
			dropped += next[len(next)-1]
			next = next[:len(next)-1]
		}
		alive, next = next, alive
	}
	// 3√n is more than 1/P(n points in all).
	return failed + dropped*3*math.Sqrt(n)
}

// poisson returns the probabilities of a Poisson distribution at the counts from, from+1, …, not below the
// exact ones but for rounding. lost is an upper bound on the sum of those left out, each of which is below cut.
func poisson(mean, cut float64) (from int, kernel []float64, lost float64) {
	mode := int(mean)
	sum := 1.0
	var below []float64
	for j, x := mode, 1.0; j > 0; j-- {
		if x = x * float64(j) / mean; x < cut {
			break
		}
		below = append(below, x)
		sum += x
	}
	slices.Reverse(below)
	kernel = append(below, 1)
	last := mode
	for x := 1.0; ; {
		last++
		if x = x * mean / float64(last); x < cut {
			break
		}
		kernel = append(kernel, x)
		sum += x
	}
	for j := range kernel {
		kernel[j] /= sum
	}
	// Fewer than mean counts are left out below; the others fall by the ratio mean/(last+1) or faster.
	return mode - len(below), kernel, cut * (mean + float64(last) + 1)
}

// partDown returns δ·share rounded down. δ is the decimal number as which delta is printed.
func partDown(delta float64, share Share) (float64, error) {
	part, err := decimal(delta)
	if err != nil {
		return 0, err
	}
	part.Mul(part, share.rational())
	f, _ := part.Float64()
	if new(big.Rat).SetFloat64(f).Cmp(part) > 0 {
		f = math.Nextafter(f, 0)
	}
	return f, nil
}

// portableExp returns exp(x) with a relative error of some 10⁻¹⁵ and the same bits on every platform: the
// conversions prevent fused operations. It returns 0 or +Inf for |x| ≥ 700.
func portableExp(x float64) float64 {
	if !(math.Abs(x) < 700) {
		return math.Exp(math.Copysign(1000, x))
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := x - float64(k*6.93147180369123816490e-01) - float64(k*1.90821492927058770002e-10)
	sum := 1.0
	for i := 20; i > 0; i-- {
		sum = 1 + float64(r*sum)/float64(i)
	}
	return math.Ldexp(sum, int(k))
}
