package certify

// pacBayes bounds the risk of a random draw from the posterior Q from all training rows, by the PAC-Bayes-kl inequality
// (Maurer 2004) with the exact sum ξ(N), and a union over the declared families of kernels and the
// grid of hyper-parameters. Without held-out rows predictions are the mean of Q. On the same event
// their risk is at most twice as large: the loss is quasi-convex, and the law of a draw at a row is
// symmetric about the mean, so that at least half of all draws lose at least as much as the mean.
func pacBayes() method {
	return method{id: MethodPACBayes, needs: LossKey{PredictorDraw, SubsetTraining}, claims: func(ev Evidence, needs LossKey, share Share) ([]Claim, error) {
		lnInverseWeight, err := LnInverseWeight(len(ev.Model.Kernel.Families), ev.Model.Theta)
		if err != nil {
			return nil, err
		}
		draw := ev.claim(needs, ClaimDraw, ev.LossSums.Of(needs.Predictor, needs.Subset))
		b, err := Bound(Terms{
			Risk: *draw.Risk, KL: ev.Model.KL, LnInverseWeight: lnInverseWeight,
			N: draw.N, Delta: ev.Delta.Declared, Share: share,
		})
		if err != nil {
			return nil, err
		}
		draw.LnInverseWeight, draw.LnXi, draw.LnInverseDelta = lnInverseWeight, b.LnXi, b.LnInverseDelta
		draw.Exponent, draw.Bound, draw.BoundPinsker = b.Exponent, b.Upper, b.Pinsker
		if ev.Delta.Uses(SubsetHoldout) {
			return []Claim{draw}, nil
		}
		mean := draw
		mean.ID, mean.Predictor, mean.Risk = ClaimMean, PredictorMean, nil
		mean.Bound, mean.BoundPinsker = min(1, 2*b.Upper), min(1, 2*b.Pinsker)
		return []Claim{mean, draw}, nil
	}}
}
