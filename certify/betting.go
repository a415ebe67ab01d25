package certify

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
)

// A [Spread] divides [0, 1] into spreadCells cells of spreadParts parts each. A part is partUnits·2⁻⁶⁰ wide.
const (
	spreadCells = 1 << 10
	spreadParts = 1 << 12
	partUnits   = UnitsPerLoss / (spreadCells * spreadParts)
)

// A Spread is a histogram of losses at the 1,025 multiples of 1/1024 in [0, 1]. Each loss counts 4,096 parts: it is
// rounded up to a multiple of 2⁻²² and its parts are divided between the two multiples next to it so that their mean
// is the rounded loss. Spreads merge by adding their entries, in any order. The zero value has no losses.
type Spread [spreadCells + 1]uint64 // entry i is the number of parts at i/1024

// Add adds the loss of one example. A loss outside [0, 1], NaN included, is an error and adds nothing.
func (s *Spread) Add(loss float64) error {
	units, err := Units(loss)
	if err != nil {
		return err
	}
	s.addUnits(units)
	return nil
}

// addUnits adds a loss in units of 2⁻⁶⁰, of at most 1.
func (s *Spread) addUnits(units uint64) {
	parts := (units + partUnits - 1) / partUnits
	cell, over := parts/spreadParts, parts%spreadParts
	s[cell] += spreadParts - over
	if over > 0 {
		s[cell+1] += over
	}
}

// Missed returns the spread of n losses, of which some are 1 and the others 0.
func Missed(ones, n int64) *Spread {
	return &Spread{0: uint64(n-ones) * spreadParts, spreadCells: uint64(ones) * spreadParts} //nolint:gosec // 0 ≤ ones ≤ n
}

// validate returns an error unless the spread has n losses and n is below 2⁵⁰.
func (s *Spread) validate(n int64) error {
	rest := new(big.Int).Lsh(big.NewInt(n), 12)
	for _, parts := range s {
		rest.Sub(rest, new(big.Int).SetUint64(parts))
	}
	if rest.Sign() != 0 || n >= 1<<50 {
		return fmt.Errorf("the spread of losses is not that of %d examples", n)
	}
	return nil
}

// The stakes b are powers of two, 2⁻⁸ to 2⁷. The stake b keeps b/(1+b) of the wealth and bets the rest.
const (
	boldestStake = -8 // exponent of the least b
	stakes       = 16 // number of b
)

// BettingUpper returns an upper bound on the expected loss of one predictor that was fixed before n independent
// examples were drawn. It holds with confidence 1 − δ·share over the draw. The result is k/n, rounded up, for
// the least whole number k at which the mean over the stakes b of
//
//	Π (b + (1 − X)/(1 − k/n)) / (b + 1),
//
// a product over the losses X, is proven to be at least 1/(δ·share); it is 1 if there is no such k
// (docs/explanation/theory.md, 13). A spread without losses, and a share or δ out of range, NaN included, are errors.
func BettingUpper(losses *Spread, delta float64, share Share) (float64, error) {
	var parts uint64
	for _, at := range losses {
		parts += at
	}
	n := int64(parts / spreadParts)
	err := errors.Join(Terms{N: n, Delta: delta, Share: share}.validate(), losses.validate(n))
	if err != nil {
		return 0, fmt.Errorf("certify: betting: %w", err)
	}
	rest, err := lnInverseDelta(delta, share)
	if err != nil {
		return 0, fmt.Errorf("certify: betting: %w", err)
	}
	target := widen(empty().Add(exact(rest), ln(exact(stakes))), -200)
	k := sort.Search(int(n), func(k int) bool { return losses.wins(n, int64(k), target) })
	return stepsUp(int64(k), n), nil
}

// stepsUp returns k/n, rounded up.
func stepsUp(k, n int64) float64 { return ones(k, n).Upper() }

// isStep reports whether bound is k/n, rounded up, for some whole number k, with 0 < n < 2⁵⁰.
func isStep(bound float64, n int64) bool {
	if !(0 <= bound && bound <= 1 && 0 < n && n < 1<<50) { // written so that NaN fails
		return false
	}
	k, _ := empty().Mul(exact(bound), exactInt(n)).Int64()
	return stepsUp(k, n) == bound
}

// wins reports whether the wealth of all stakes together, if the mean loss is k/n, is proven to be at least
// exp(target). It requires k < n.
func (s *Spread) wins(n, k int64, target *big.Float) bool {
	var wealth [stakes]float64
	for i := range wealth {
		wealth[i] = s.wealth(math.Ldexp(1, boldestStake+i), n, k)
	}
	best := empty().Sub(target, exact(slices.Max(wealth[:])))
	if best.Sign() <= 0 {
		return true
	}
	if best.Cmp(exact(math.Log(stakes))) > 0 { // the best stake has less than 1/stakes of exp(target)
		return false
	}
	sum := empty()
	for _, w := range wealth {
		sum.Add(sum, expNegDown(empty().Sub(target, exact(w))))
	}
	return sum.Cmp(widen(exact(1), -200)) >= 0
}

// wealth returns a lower bound on the logarithm of the final wealth of the stake b, a power of two, if the mean
// loss is k/n. It is a sum of float64 logarithms less a bound on its error (docs/explanation/theory.md, 13).
func (s *Spread) wealth(b float64, n, k int64) float64 {
	ratio := float64(n) / float64(n-k)
	var sum, size float64
	for cell, parts := range s {
		if parts == 0 {
			continue
		}
		kept := float64(float64(spreadCells-cell)*ratio) / spreadCells
		gain := float64(float64(parts)*lnFloat((b+kept)/(b+1))) / spreadParts
		sum += gain
		size += math.Abs(gain)
	}
	return sum - (float64(0x1p-42*size) + float64(0x1p-49*float64(n)))
}

// lnFloat returns the natural logarithm of a normal number x > 0, with a relative error below 2⁻⁴⁹ and the same
// bits on every platform: the conversions prevent fused operations.
//
// With x = m·2^e and √½ ≤ m < √2, ln x = e ln 2 + 2 artanh z, where z = (m−1)/(m+1) and |z| < 0.1716.
func lnFloat(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	return float64(float64(e)*math.Ln2) + twiceArtanh((m-1)/(m+1))
}

// ln1mFloat returns ln(1−p) for 0 ≤ p < 1 with the error bound of lnFloat, also for tiny p.
func ln1mFloat(p float64) float64 {
	if p < 0.25 {
		return -twiceArtanh(p / (2 - p))
	}
	return lnFloat(1 - p)
}

// twiceArtanh returns 2 artanh z for |z| < 0.1716.
func twiceArtanh(z float64) float64 {
	z2 := float64(z * z)
	series := 1.0 / 23
	for odd := 21.0; odd > 0; odd -= 2 {
		series = float64(series*z2) + 1/odd
	}
	return float64(2 * z * series)
}

// bettingBound returns the bound that follows from the spread of a loss sum. A loss sum from a document has no
// spread: its stated bound must be a multiple of 1/n, rounded up, and not below the bound for no loss at all.
func (ev Evidence) bettingBound(t LossSum, share Share) (float64, error) {
	if t.Spread != nil {
		return BettingUpper(t.Spread, ev.Delta.Declared, share)
	}
	n := t.Risk.Count()
	least, err := BettingUpper(Missed(0, n), ev.Delta.Declared, share)
	if err == nil && !(isStep(t.Bound, n) && t.Bound >= least) {
		err = fmt.Errorf("the bound %v from %d held-out rows is no step of one row, or below %v, which is that of no loss", t.Bound, n, least)
	}
	return t.Bound, err
}
