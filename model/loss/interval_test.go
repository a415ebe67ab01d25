package loss_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/loss"
)

// law is one row: what is exact, and what is computed of it.
type law struct {
	y, m, v            *big.Float
	computed           [3]float64
	meanError, varied  float64
	accuracy, eps, off float64
}

func exact(x float64) *big.Float { return new(big.Float).SetPrec(loss.Precision).SetFloat64(x) }

// moved returns x + by, at least 0 if so asked.
func moved(x *big.Float, by float64) *big.Float {
	return new(big.Float).SetPrec(loss.Precision).Add(x, exact(by))
}

// randomLaw draws rows of all sizes: on the edges, far beyond them, laws that are nearly
// points and laws that are wide, with errors from nothing to whole tolerances.
func randomLaw(rng *rand.Rand) law {
	sign := func() float64 { return 2*rng.Float64() - 1 }
	var l law
	l.eps = math.Exp(2 * rng.NormFloat64())
	l.off = []float64{0, 0.37, -5, 1e4}[rng.IntN(4)]
	y := l.eps * math.Exp(2*rng.NormFloat64()) * sign()
	s := l.eps * math.Exp(4*rng.NormFloat64()-1)
	if rng.IntN(8) == 0 {
		s = 0
	}
	edge := []float64{0, l.eps, -l.eps, 0.7 * l.eps, 1.4 * l.eps, math.Abs(y + l.off), 10 * l.eps}[rng.IntN(7)]
	m := y + edge + sign()*[]float64{0, s, 1e-9, 5 * s}[rng.IntN(4)]
	l.accuracy = l.eps * []float64{0, 0x1p-20, 0.01}[rng.IntN(3)]
	l.meanError = l.eps * []float64{0, 1e-12, 1e-8, 1e-3}[rng.IntN(4)]
	l.varied = s*s*[]float64{0, 1e-9, 0.3, 2}[rng.IntN(4)] + []float64{0, 1e-15}[rng.IntN(2)]
	l.computed = [3]float64{y, m, s * s}
	l.y = new(big.Float).SetPrec(loss.Precision).Mul(exact(y), moved(exact(1), 2*0x1p-53*sign()))
	l.m = moved(exact(m), l.meanError*sign())
	if l.v = moved(exact(s*s), l.varied*sign()); l.v.Sign() < 0 {
		l.v = exact(0)
	}
	return l
}

func (l law) interval(kind loss.Kind) (lo, hi float64, of loss.Loss, err error) {
	return l.bounds(kind, (*loss.Interval).Bounds)
}

func (l law) bounds(kind loss.Kind, write func(r *loss.Interval, laws loss.Laws, lo, hi []float64)) (lo, hi float64, of loss.Loss, err error) {
	if of, err = loss.New(kind, l.eps, 0.7*l.eps, 1.4*l.eps, l.off); err != nil {
		return 0, 0, nil, err
	}
	one := func(x float64) []float64 { return []float64{x} }
	low, high := one(0), one(0)
	write(loss.NewInterval(of, l.accuracy), loss.Laws{
		Y: one(l.computed[0]), Mean: one(l.computed[1]), Variance: one(l.computed[2]),
		MeanError: one(l.meanError), VarianceError: one(l.varied),
	}, low, high)
	return low[0], high[0], of, nil
}

// The interval holds the expected loss of the exact law, and that of every law whose
// draws are moved by no more than the accuracy.
func TestIntervalHoldsTheExactLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	rows := 2500 // 20,000 were tried
	if testing.Short() {
		rows = 500
	}
	narrow := map[loss.Kind]int{}
	for i := range rows {
		l := randomLaw(rng)
		kind := kinds[i%len(kinds)]
		lo, hi, of, err := l.interval(kind)
		fatal.If(t, err)
		if hi-lo < 1e-5 {
			narrow[kind]++
		}
		share := float64(rng.IntN(3) - 1)
		e := of.Reference(l.y, moved(l.m, share*l.accuracy), l.v)
		if lo > 0 && e.Cmp(exact(lo)) < 0 || hi < 1 && e.Cmp(exact(hi)) > 0 {
			t.Fatalf("%s, %+v, moved by %g of the accuracy: %.20g is not in [%.20g, %.20g]", kind, l, share, e, lo, hi)
		}
	}
	wantNarrow(t, narrow, rows)
}

// wantNarrow makes sure that some intervals of each loss are narrow: without them a test
// shows nothing.
func wantNarrow(t *testing.T, narrow map[loss.Kind]int, rows int) {
	t.Helper()
	for _, kind := range kinds {
		if narrow[kind] < rows/len(kinds)/12 {
			t.Errorf("%s: only %d of %d intervals are narrower than 1e-5", kind, narrow[kind], rows/len(kinds))
		}
	}
}

// The loss of the exact mean, and of every prediction within the accuracy of it, is
// between the bounds; those of a loss of 0 and 1 are whole.
func TestPointsHoldTheExactLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	rows, narrow := 20_000, map[loss.Kind]int{}
	for i := range rows {
		l := randomLaw(rng)
		kind := kinds[i%len(kinds)]
		lo, hi, of, err := l.bounds(kind, (*loss.Interval).Points)
		fatal.If(t, err)
		if hi-lo < 1e-5 {
			narrow[kind]++
		}
		if of.Point(0, 1e9*l.eps) == 1 && of.Point(0, 0.1*l.eps) == 0 && (lo != math.Trunc(lo) || hi != math.Trunc(hi)) {
			t.Fatalf("%s, %+v: [%g, %g] is not whole", kind, l, lo, hi)
		}
		for _, share := range []float64{-1, 0, 1, 2*rng.Float64() - 1} {
			e := of.Reference(l.y, moved(l.m, share*l.accuracy), exact(0))
			if lo > 0 && e.Cmp(exact(lo)) < 0 || hi < 1 && e.Cmp(exact(hi)) > 0 {
				t.Fatalf("%s, %+v, moved by %g of the accuracy: %.20g is not in [%.20g, %.20g]", kind, l, share, e, lo, hi)
			}
		}
	}
	wantNarrow(t, narrow, rows)
}

// Where law and accuracy are exact, the interval is as narrow as rounding.
func TestIntervalIsNarrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for i := range 2000 {
		l := randomLaw(rng)
		l.off = 0.37
		kind := kinds[i%len(kinds)]
		s := l.eps * (0.01 + 10*rng.Float64())
		y := l.eps * (1 + rng.Float64())
		l.computed = [3]float64{y, y + l.eps*2*rng.NormFloat64(), s * s}
		l.meanError, l.varied, l.accuracy = 0, 0, 0
		lo, hi, _, err := l.interval(kind)
		fatal.If(t, err)
		if !(hi-lo < 1e-10) {
			t.Errorf("%s, %+v: [%.17g, %.17g] is wider than rounding", kind, l, lo, hi)
		}
	}
}

// What is not known is everything from 0 to 1: no NaN, no infinity gets through.
func TestIntervalOfUnknownLaws(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, kind := range kinds {
		of := mustNew(t, kind, 1)
		for _, c := range [][4]float64{
			{nan, 1, 0, 0},
			{0, nan, 0, 0},
			{0, 1, nan, 0},
			{0, 1, 0, nan},
			{0, 1, inf, 0},
			{0, 1, 0, inf},
			{inf, 1, 0, 0},
			{0, inf, 0, 0},
			{0, 1, 1e-3, 0},
			{0, -1, 0, 0},
			{1e300, 1e300, 0, 0},
		} {
			one := func(x float64) []float64 { return []float64{x} }
			lo, hi := one(0.5), one(0.5)
			loss.NewInterval(of, 1e-6).Bounds(loss.Laws{Y: one(0.1), Mean: one(c[0]), Variance: one(c[1]), MeanError: one(c[2]), VarianceError: one(c[3])}, lo, hi)
			if !(0 <= lo[0] && lo[0] <= hi[0] && hi[0] <= 1) {
				t.Errorf("%s, %v: [%g, %g]", kind, c, lo[0], hi[0])
			}
			unknown := math.IsNaN(c[0]+c[1]+c[2]+c[3]) || !(c[2] <= 1e-6) || math.IsInf(c[3], 0)
			if unknown && (lo[0] != 0 || hi[0] != 1) {
				t.Errorf("%s, %v: [%g, %g], want everything", kind, c, lo[0], hi[0])
			}
			loss.NewInterval(of, 1e-6).Points(loss.Laws{Y: one(0.1), Mean: one(c[0]), Variance: one(c[1]), MeanError: one(c[2]), VarianceError: one(c[3])}, lo, hi)
			if !(0 <= lo[0] && lo[0] <= hi[0] && hi[0] <= 1) || !(c[2] <= 1e-6) && (lo[0] != 0 || hi[0] != 1) {
				t.Errorf("%s, %v: a prediction's loss is in [%g, %g], want everything", kind, c, lo[0], hi[0])
			}
		}
	}
}
