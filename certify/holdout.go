package certify

// holdout bounds the risk of the predictor from rows that neither the prior nor
// training nor any choice has seen. Given all other rows, the mean is one fixed
// predictor, whose losses on these rows are independent. This needs three assumptions:
// training has not seen the rows ([AssumeHoldoutUnseen]), they were not chosen by their
// values ([AssumeSplitFixed]), and the job owes nothing to their values
// ([AssumeJobFixed]).
func holdout() method {
	return method{id: MethodHoldout, needs: LossKey{PredictorMean, SubsetHoldout}, claims: func(ev Evidence, needs LossKey, share Share) ([]Claim, error) {
		t := ev.LossSums.Of(needs.Predictor, needs.Subset)
		g := ev.claim(needs, ClaimHoldout, LossSum{Risk: t.Risk.whole()}) // the price of reuse is for one of n+1 answers
		var err error
		if g.LnInverseDelta, err = lnInverseDelta(ev.Delta.Declared, share); err != nil {
			return nil, err
		}
		if ev.Loss.Kind.Counts() && ev.Counts.Units == nil {
			g.Bound, err = BinomialUpper(t.Risk.ones(), g.N, ev.Delta.Declared, share)
		} else { // what is shown is the bound
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
