package certify

// Names of the theorems in a certificate.
const (
	methodDraw = "PAC-Bayes-kl inequality (Maurer 2004) with the exact sum xi(N), and a union over the declared families of kernels and grid of hyper-parameters; kl inverted upwards"
	methodMean = "twice the bound of pb-full: the loss is quasi-convex and the law of a draw at a row is symmetric about the mean, so that at least half of all draws lose at least as much as the mean"
)

// pacBayes bounds the risk of a draw of Q from all train rows. Without hold-out rows predictions are
// the mean of Q: on the same event their risk is at most twice as large.
func pacBayes() method {
	return method{id: MethodPACBayes, needs: TallyKey{PredictorDraw, RoleTrain}, guarantees: func(ev Evidence, needs TallyKey, share Share) ([]Guarantee, error) {
		lnInverseWeight, err := LnInverseWeight(len(ev.Kernel.Families), ev.Theta)
		if err != nil {
			return nil, err
		}
		draw := ev.guarantee(needs, GuaranteeDraw, methodDraw)
		b, err := Bound(Terms{
			Risk: draw.EmpiricalRisk.Upper, KL: ev.KL, LnInverseWeight: lnInverseWeight,
			N: draw.N, Delta: ev.Delta.Declared, Share: share,
		})
		if err != nil {
			return nil, err
		}
		draw.KL, draw.LnInverseWeight, draw.LnXi, draw.LnInverseDelta = ev.KL, lnInverseWeight, b.LnXi, b.LnInverseDelta
		draw.Exponent, draw.Bound, draw.BoundPinsker = b.Exponent, b.Upper, b.Pinsker
		if ev.Delta.Uses(RoleHoldout) {
			return []Guarantee{draw}, nil
		}
		mean := draw
		mean.ID, mean.Predictor, mean.Method = GuaranteeMean, PredictorMean, methodMean
		mean.Bound, mean.BoundPinsker = min(1, 2*b.Upper), min(1, 2*b.Pinsker)
		return []Guarantee{mean, draw}, nil
	}}
}
