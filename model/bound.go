package model

import "math"

// klInverse returns sup{p : kl(q‖p) ≤ c} to about 1e-12, for training alone. Certificates use another function,
// which errs upwards only.
func klInverse(q, c float64) float64 {
	lo, hi := q, 1.0
	for range 60 {
		mid := lo + (hi-lo)/2
		if binaryKL(q, mid) > c {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// binaryKL returns kl(q‖p), with 0·ln 0 = 0.
func binaryKL(q, p float64) float64 {
	sum := 0.0
	if q > 0 {
		sum += q * math.Log(q/p)
	}
	if q < 1 {
		sum += (1 - q) * math.Log((1-q)/(1-p))
	}
	return sum
}

// pacBound returns klinv(risk, (nats + ln(2√N/δ))/N), an estimate of the bound B. nats is KL + ln 1/p_θ.
func pacBound(risk, nats, n, delta float64) float64 {
	risk = max(0, min(1, risk))
	return klInverse(risk, (nats+math.Log(2*math.Sqrt(n)/delta))/n)
}

// riskWeight returns b = logit B − logit R_S, the price of one unit of loss in nats at which J_b (see the package
// comment) and the bound have the same minimum. It keeps the risk away from 0, where b is infinite, and b in [0.2, 6].
func riskWeight(risk, bound float64) float64 {
	const least = 1e-4
	q := max(least, min(1-least, risk))
	p := max(q+1e-6, min(1-1e-9, bound))
	b := math.Log(p/(1-p)) - math.Log(q/(1-q))
	return max(0.2, min(6, b))
}
