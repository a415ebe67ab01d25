package model

import "math"

// adam is the state of the optimiser of θ and Z: Kingma and Ba (2015), algorithm 1.
type adam struct {
	mean, square []float64 // running means of the gradient and of its squares
	steps        int
	beta2        float64
}

const (
	adamBeta1   = 0.9
	adamBeta2   = 0.99 // of gradients of all rows
	boundBeta2  = 0.9  // of the few steps of the joint phase
	adamEpsilon = 1e-12
)

func newAdam(n int) adam {
	return adam{mean: make([]float64, n), square: make([]float64, n), beta2: adamBeta2}
}

// direction overwrites the gradient with the step for a rate of 1. The caller multiplies it by the rate and
// subtracts it. The size of its elements is at most about 1.
func (a *adam) direction(gradient []float64) {
	a.steps++
	c1 := 1 - math.Pow(adamBeta1, float64(a.steps))
	c2 := 1 - math.Pow(a.beta2, float64(a.steps))
	for i, g := range gradient {
		a.mean[i] = float64(adamBeta1*a.mean[i]) + float64((1-adamBeta1)*g)
		a.square[i] = float64(a.beta2*a.square[i]) + float64((1-a.beta2)*g*g)
		gradient[i] = (a.mean[i] / c1) / (math.Sqrt(a.square[i]/c2) + adamEpsilon)
	}
}
