package pipeline_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Units are changes of unit of the two features and the target: v → a·v + b.
type units struct{ a, b [3]float64 }

func (u units) apply(columns [][]float64) [][]float64 {
	out := make([][]float64, len(columns))
	for c := range columns {
		out[c] = make([]float64, len(columns[c]))
		for i, v := range columns[c] {
			out[c][i] = u.a[c]*v + u.b[c]
		}
	}
	return out
}

// invariant are the numbers of a certificate that have no unit.
func invariant(c certify.Certificate) []float64 {
	out := []float64{c.Constant.Risk.Lower(), c.Model.KL, c.Model.Jitter.Limit}
	for _, g := range c.Claims {
		out = append(out, g.Baseline, g.LnInverseWeight, g.LnXi, g.LnInverseDelta, g.Exponent, g.Bound, g.BoundPinsker)
	}
	for _, x := range c.Model.Theta {
		out = append(out, float64(x.Index))
	}
	return out
}

// kinds are the losses, with tolerances in units of which the target has y.
func kinds(y float64) []job.LossDecl {
	return []job.LossDecl{
		{Kind: "zero-one", Epsilon: 0.4 * y},
		{Kind: "zero-one", EpsilonStd: 0.6},
		{Kind: "band", Below: 0.3 * y, Above: 0.5 * y},
		{Kind: "squared", Epsilon: 0.9 * y},
		{Kind: "exponential", Epsilon: 0.7 * y},
		{Kind: "relative"},
		{Kind: "relative-zero-one", Epsilon: 0.1},
	}
}

// Powers of two leave no trace: the numbers without a unit are the same bits,
// and tolerances are those in the other unit.
func TestBoundIsTheSameInOtherUnitsOfAPowerOfTwo(t *testing.T) {
	columns := waves(250, 0.2, 50)
	for i := range columns[2] {
		columns[2][i] += 3 // for the relative losses
	}
	for k, loss := range kinds(1) {
		t.Run(fmt.Sprint(k, " ", loss.Kind), func(t *testing.T) {
			want := publish(t, newLake(columns, 100, 150), func(j *job.Job) { tiny(j); j.Loss = loss }).certificate
			for _, u := range []units{
				{a: [3]float64{0x1p30, 0x1p-40, 1}},
				{a: [3]float64{1, 1, 0x1p20}},
				{a: [3]float64{0x1p-200, 4, 0x1p-100}},
			} {
				got := publish(t, newLake(u.apply(columns), 100, 150), func(j *job.Job) { tiny(j); j.Loss = kinds(u.a[2])[k] }).certificate
				if !slices.Equal(invariant(got), invariant(want)) {
					t.Errorf("units %v: numbers are\n%v, want\n%v", u.a, invariant(got), invariant(want))
				}
				factor := u.a[2]
				if loss.Kind == certify.LossRelativeZeroOne {
					factor = 1
				}
				if g, w := got.Loss.Epsilon, want.Loss.Epsilon*factor; g != w {
					t.Errorf("units %v: epsilon is %v, want %v", u.a, g, w)
				}
				if g, w := got.Constant.Value, want.Constant.Value*u.a[2]; g != w {
					t.Errorf("units %v: the constant is %v, want %v", u.a, g, w)
				}
			}
		})
	}
}
