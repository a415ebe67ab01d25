package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/kernel"
)

func TestEstimateFindsTheScale(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		// y depends on the first feature alone.
		rows := testRows(300, 3, 50)
		rng := rand.New(rand.NewPCG(3, 3))
		for i := range rows.Len() {
			rows.Y[i] = math.Sin(2*rows.Row(i)[0]) + 0.1*rng.NormFloat64()
		}
		e, err := Estimate(rows, f, Scales{ARD: true}, 2)
		fatal.If(t, err)
		again, err := Estimate(rows, f, Scales{ARD: true}, 1)
		if err != nil || !slices.Equal(e.Theta, again.Theta) {
			t.Errorf("one worker estimates %v, two %v (%v)", again.Theta, e.Theta, err)
		}
		if len(e.Theta) != 4 || !(e.Theta[0] < 0.7) || !(e.Theta[1] > e.Theta[0]+1) || !(e.Theta[2] > e.Theta[0]+1) {
			t.Errorf("ln lengthscales %.2f: the first should be short, the others long", e.Theta)
		}
		if sd := math.Exp(e.LnNoise / 2); !(sd > 0.07 && sd < 0.14) {
			t.Errorf("noise estimated as %g, drawn with 0.1", sd)
		}
	})
}

// The evidence's gradient agrees with central differences.
func TestEvidenceGradient(t *testing.T) {
	eachFamily(t, func(t *testing.T, f *kernel.Family) {
		rows := testRows(60, 2, 51)
		for _, scales := range []Scales{{ARD: true}, {}, {ARD: true, Widths: []int{2}}} {
			tr := newTestTrainer(t, testConfig(t, rows, true), rows)
			e := newEvidence(tr.pool, rows, f, scales)
			theta := make([]float64, e.parameters+1)
			for i := range theta {
				theta[i] = 0.3 - 0.4*float64(i)
			}
			gradient, scratch := make([]float64, len(theta)), make([]float64, len(theta))
			e.negativeLog(theta, gradient)
			for i := range theta {
				old := theta[i]
				want := difference(func(step float64) float64 {
					theta[i] = old + step
					v, _ := e.negativeLog(theta, scratch)
					return v
				})
				theta[i] = old
				if !(math.Abs(gradient[i]-want) <= 1e-6*(1+math.Abs(want))) {
					t.Errorf("%+v: derivative %d is %.9g, differences give %.9g", scales, i, gradient[i], want)
				}
			}
		}
	})
}

// klInverse matches values computed with 60 digits.
func TestKLInverseEstimate(t *testing.T) {
	for _, c := range []struct{ q, c, want float64 }{
		{0, .05, .0487705754992859909},
		{.011, .0517, .0821267674411694483},
		{.1, .05, .220078601106924618},
		{.5, .2, .787088816381081231},
		{.9, .3, .998036728216553065},
		{1, .1, 1},
	} {
		if got := klInverse(c.q, c.c); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("klInverse(%g, %g) = %.15g, want %.15g", c.q, c.c, got, c.want)
		}
	}
}
