package certify

import (
	"fmt"
	"math"
	"math/big"
)

// This file and alarm.go test a fixed predictor on rows that came after it was published. They do not assume
// independence: each row may depend on all earlier ones. The proofs are in docs/explanation/theory.md, 18.

// nextRates returns −λ_j for the λ_j of [NextBound]: 4·2^(−j/2), j = 0 … 15.
func nextRates() []float64 {
	all := make([]float64, 16)
	for j := range all {
		all[j] = math.Ldexp(4, -(j / 2))
		if j%2 == 1 {
			all[j] *= math.Sqrt2 / 2
		}
	}
	return all
}

// NextBound returns an upper bound on the average, over n rows, of each row's expected loss given all rows
// before it. With confidence 1−δ it holds for all n at once, so that it may be computed after every row and
// used to decide when to stop.
//
// With S the sum of the losses, the result is a p ≥ S/n where
//
//	mean over j of exp(λ_j S) (1 − p + p e^λ_j)^(−n)
//
// is proven to reach 1/δ. It is above the least such p by less than 10⁻¹² of it, and 1 if there is none. No
// rows, and a δ outside (0, 1), are errors.
func NextBound(losses RiskSum, delta float64) (float64, error) {
	n := losses.Count()
	if n < 1 {
		return 0, fmt.Errorf("certify: the mean loss of %d rows", n)
	}
	rest, err := lnInverseDelta(delta, Share{})
	if err != nil {
		return 0, fmt.Errorf("certify: next rows: %w", err)
	}
	// The goal includes ln 16, since the mean becomes a sum, and more than all rounding errors below.
	goal := empty().Add(exact(rest), ln(exact(16)))
	goal.Add(goal, pow2(-120))
	sum := empty().SetInt(losses.total())
	sum.Mul(sum, pow2(-60))
	var terms []nextTerm
	for _, rate := range nextRates() {
		e := expNegUp(exact(rate))
		terms = append(terms, nextTerm{empty().Sub(exact(1), e), empty().Mul(exact(-rate), sum)})
	}
	reaches := func(p float64) bool { return nextReaches(terms, n, p, goal) }
	if !reaches(1) {
		return 1, nil
	}
	return narrowed(losses.Upper(), 1, reaches), nil
}

// A nextTerm has, for one λ < 0, a lower bound on 1 − e^λ and λS.
type nextTerm struct{ gain, spent *big.Float }

// nextReaches reports, for 0 < p ≤ 1, whether ln Σ_j exp(λ_j S − n ln(1 − p(1 − e^λ_j))) is proven to reach the goal.
func nextReaches(terms []nextTerm, n int64, p float64, goal *big.Float) bool {
	exponents := make([]*big.Float, len(terms))
	var most *big.Float
	for j, t := range terms {
		rest := empty().Mul(exact(p), t.gain)
		x := empty().Mul(exactInt(-n), ln(rest.Sub(exact(1), rest)))
		exponents[j] = x.Add(x, t.spent)
		if most == nil || x.Cmp(most) > 0 {
			most = x
		}
	}
	sum := empty()
	for _, x := range exponents {
		sum.Add(sum, expNegDown(empty().Sub(most, x)))
	}
	return ln(sum).Cmp(empty().Sub(goal, most)) >= 0
}
