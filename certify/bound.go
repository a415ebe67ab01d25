package certify

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// maxNats is the largest KL and the largest ln 1/p_θ, so that their sum is finite.
const maxNats = 1e15

// Terms are the numbers that enter the bound for a random draw from the posterior.
type Terms struct {
	Risk            float64 // upper bound on R_S(Q), in [0, 1]
	KL              float64 // upper bound on KL(Q‖P), in nats, ≥ 0
	LnInverseWeight float64 // upper bound on ln 1/p_θ, in nats, ≥ 0
	N               int64   // number of certified examples, ≥ 1
	Delta           float64 // the decimal number δ, 0 < δ < 1
	Share           Share   // the part of δ that the bound may spend; the zero Share is all of δ
}

// Bounds are the results of [Bound]. Each errs upwards.
type Bounds struct {
	LnXi           float64 // ≥ ln ξ(N)
	LnInverseDelta float64 // ≥ ln 1/(δ·share)
	Exponent       float64 // c ≥ (KL + ln 1/p_θ + ln ξ + ln 1/(δ·share))/N
	Upper          float64 // B ≥ R(Q), in [0, 1]
	Pinsker        float64 // ≥ R_S + √(c/2), but at most 1; not below Upper but for rounding
}

// Bound returns B = kl⁻¹(R_S, c) ≥ R(Q) and the intermediate terms, each step rounded up.
// Terms out of range, NaN included, are an error.
func Bound(t Terms) (Bounds, error) {
	if err := t.validate(); err != nil {
		return Bounds{}, fmt.Errorf("certify: bound: %w", err)
	}
	inverse, err := lnInverseDelta(t.Delta, t.Share)
	if err != nil {
		return Bounds{}, fmt.Errorf("certify: bound: %w", err)
	}
	b := Bounds{LnXi: LnXi(t.N), LnInverseDelta: inverse}
	sum := empty()
	sum.Add(sum, exact(t.KL))
	sum.Add(sum, exact(t.LnInverseWeight))
	sum.Add(sum, exact(b.LnXi))
	sum.Add(sum, exact(b.LnInverseDelta))
	b.Exponent = perExample(sum, t.N)

	b.Upper = KLInverse(t.Risk, b.Exponent)
	b.Pinsker = min(1, Pinsker(t.Risk, b.Exponent))
	return b, nil
}

// HoldoutBound returns an upper bound on the expected loss of one predictor that was fixed before n independent
// examples were drawn, and whose mean loss on them is risk. It holds with confidence 1−δ over the draw:
// kl⁻¹(risk, ln(1/δ)/n), by Chernoff's bound (Langford 2005). Numbers out of range, NaN included, are an error.
func HoldoutBound(risk float64, n int64, delta float64) (float64, error) {
	if err := (Terms{Risk: risk, N: n, Delta: delta}).validate(); err != nil {
		return 0, fmt.Errorf("certify: held-out bound: %w", err)
	}
	inverse, err := lnInverseDelta(delta, Share{})
	if err != nil {
		return 0, fmt.Errorf("certify: held-out bound: %w", err)
	}
	return KLInverse(risk, perExample(exact(inverse), n)), nil
}

// Pinsker returns an upper bound on q + √(c/2), which is never below the supremum that [KLInverse] bounds. The
// result may be above 1. It requires 0 ≤ q ≤ 1 and c ≥ 0, and panics otherwise, NaN included.
func Pinsker(q, c float64) float64 {
	if !(0 <= q && q <= 1 && c >= 0) { // written so that NaN fails
		panic("certify: Pinsker argument out of range")
	}
	if math.IsInf(c, 1) {
		return c
	}
	root := empty().Sqrt(empty().Mul(exact(c), exact(0.5)))
	return upward(widen(root.Add(root, exact(q)), -200))
}

// perExample returns sum/n, rounded up. All terms of the sum are positive, so that widening it covers the
// rounding of their addition.
func perExample(sum *big.Float, n int64) float64 {
	return upward(widen(sum.Quo(sum, exactInt(n)), -200))
}

// decimal returns the shortest decimal number that reads back as x.
func decimal(x float64) (*big.Rat, error) {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		return nil, fmt.Errorf("%g is no decimal number", x)
	}
	return r, nil
}

// validate reports all faults. Each condition is written so that NaN fails.
func (t Terms) validate() error {
	var faults faultList
	faults.when(!(0 <= t.Risk && t.Risk <= 1), "empirical risk is %g, want a number in [0, 1]", t.Risk)
	faults.when(!(0 <= t.KL && t.KL <= maxNats), "KL is %g, want a number from 0 to %g", t.KL, maxNats)
	faults.when(!(0 <= t.LnInverseWeight && t.LnInverseWeight <= maxNats), "ln 1/p of the hyper-parameters is %g, want a number from 0 to %g", t.LnInverseWeight, maxNats)
	faults.when(t.N < 1, "%d certified examples, want at least one", t.N)
	faults.add(validDelta(t.Delta), t.Share.validate())
	return faults.err()
}

// holdout bounds the risk of predictions from rows that neither the prior nor training nor any choice has seen.
// Given all other rows, predictions come from one fixed predictor, whose losses on these rows are independent.
// This needs three assumptions: training has not seen the rows ([AssumeHoldoutUnseen]), they were not chosen by
// their values ([AssumeSplitFixed]), and the job does not depend on their values ([AssumeJobFixed]).
func holdout() method {
	return method{id: MethodHoldout, needs: LossKey{PredictorMean, SubsetHoldout}, claims: func(ev Evidence, needs LossKey, share Share) ([]Claim, error) {
		t := ev.LossSums.Of(needs.Predictor, needs.Subset)
		g := ev.claim(needs, ClaimHoldout, LossSum{Risk: t.Risk.whole()}, share) // a whole number, as [Reuse] supposes
		var err error
		if ev.Loss.Kind.Counts() && ev.Counts.Units == nil {
			g.Bound, err = BinomialUpper(t.Risk.ones(), g.N, ev.Delta.Declared, share)
		} else { // the document shows this bound and no losses
			g.Bound, err = ev.bettingBound(t, share)
			g.Risk, g.shown = nil, LossSum{Risk: RiskSum{count: g.N}, Bound: g.Bound}
		}
		if ev.Delta.Reuse.ended() {
			g.Bound = 1
			if g.Risk == nil {
				g.shown.Bound = 1
			}
		}
		return []Claim{g}, err
	}}
}

// pacBayes bounds the risk of a random draw from the posterior Q, from all training rows. It is the PAC-Bayes-kl
// inequality (Maurer 2004) with the exact sum ξ(N) and a union bound over the declared families of kernels and the
// grid of hyper-parameters. Without held-out rows, predictions are the mean of Q, whose risk [Claim.twice] bounds.
func pacBayes() method {
	return method{id: MethodPACBayes, needs: LossKey{PredictorDraw, SubsetTraining}, claims: func(ev Evidence, needs LossKey, share Share) ([]Claim, error) {
		draw, err := ev.ofDraws(needs, share, ev.Model.KL)
		if err != nil || ev.Delta.Uses(SubsetHoldout) {
			return []Claim{draw}, err
		}
		return []Claim{draw.twice(), draw}, nil
	}}
}

// pacBayesMean bounds the risk of predictions from all training rows where other rows are held out. The inequality
// holds for all posteriors at once, so also for N(w, S), with the weights w of predictions and the covariance S of Q.
func pacBayesMean() method {
	return method{id: MethodMean, needs: LossKey{PredictorAround, SubsetTraining}, with: MethodPACBayes, claims: func(ev Evidence, needs LossKey, share Share) ([]Claim, error) {
		draw, err := ev.ofDraws(needs, share, ev.Model.KLAround)
		return []Claim{draw.twice()}, err
	}}
}

// ofDraws returns the claim about random draws from a posterior whose KL divergence from the prior is kl.
func (ev Evidence) ofDraws(needs LossKey, share Share, kl float64) (Claim, error) {
	lnInverseWeight, err := LnInverseWeight(len(ev.Model.Kernel.Families), ev.Model.Theta)
	if err != nil {
		return Claim{}, err
	}
	draw := ev.claim(needs, ClaimDraw, ev.LossSums.Of(needs.Predictor, needs.Subset), share)
	b, err := Bound(Terms{Risk: *draw.Risk, KL: kl, LnInverseWeight: lnInverseWeight, N: draw.N, Delta: ev.Delta.Declared, Share: share})
	draw.LnInverseWeight, draw.LnXi = lnInverseWeight, b.LnXi
	draw.Exponent, draw.Bound, draw.BoundPinsker = b.Exponent, b.Upper, b.Pinsker
	return draw, err
}

// twice derives from a claim about random draws one about predictions, which are the mean of the draws. It needs
// no further part of δ. A prediction's risk is at most twice that of a draw: the loss is quasi-convex, and a
// draw's value at a row is distributed symmetrically about the prediction, so that at least half of all draws
// lose at least as much as the prediction.
func (g Claim) twice() Claim {
	g.ID, g.Predictor, g.Risk = ClaimMean, PredictorMean, nil
	g.Bound, g.BoundPinsker = min(1, 2*g.Bound), min(1, 2*g.BoundPinsker)
	return g
}
