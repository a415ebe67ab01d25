package certify

const methodTail = "upper limit of Clopper and Pearson (1934) on rows that were used for nothing else; the binomial tail inverted upwards"

// holdout bounds the risk of the predictor from rows that neither the prior nor
// training nor any choice has seen. Given all other rows, the mean is one fixed
// predictor, whose losses on these rows are independent. This needs three assumptions:
// training has not seen the rows ([AssumeHoldoutUnseen]), nobody chose them by their
// values ([AssumeHoldoutFixed]), and the job owes nothing to their values
// ([AssumeOneAttempt]).
func holdout() method {
	return method{id: MethodHoldout, needs: TallyKey{PredictorMean, RoleHoldout}, guarantees: func(ev Evidence, needs TallyKey, share Share) ([]Guarantee, error) {
		g := ev.guarantee(needs, GuaranteeHoldout, methodTail)
		sum := g.EmpiricalRisk.Exact.whole() // the price of looks is for one of n+1 answers
		g.EmpiricalRisk, g.Unproven = Risk{Exact: sum, Upper: sum.Upper()}, 0
		var err error
		if g.LnInverseDelta, err = lnInverseDelta(ev.Delta.Declared, share); err != nil {
			return nil, err
		}
		if g.Loss.Kind.Counts() && ev.Ledger.Units == nil {
			g.Bound, err = BinomialUpper(g.EmpiricalRisk.Exact.ones(), g.N, ev.Delta.Declared, share)
		} else { // what the look shows is the bound
			g.Method, g.EmpiricalRisk = methodBetting, Risk{}
			g.Bound, err = ev.bettingBound(ev.Tallies.Of(needs.Predictor, needs.Role), share)
		}
		if ev.Delta.Looks.ended() {
			g.Bound = 1
		}
		return []Guarantee{g}, err
	}}
}
