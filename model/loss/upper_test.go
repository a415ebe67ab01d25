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
	edge := []float64{0, l.eps, -l.eps, 0.7 * l.eps, 1.4 * l.eps, math.Abs(y + l.off), l.eps * math.Abs(y+l.off), 10 * l.eps}[rng.IntN(8)]
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

// bound returns the upper bound of a loss, of draws or of points, and the loss.
func (l law) bound(kind loss.Kind, write func(r *loss.Upper, l loss.Loss, accuracy float64, y []float64, laws loss.Laws, hi []float64)) (float64, loss.Loss, error) {
	of, err := loss.New(kind, l.eps, 0.7*l.eps, 1.4*l.eps, l.off)
	if err != nil {
		return 0, nil, err
	}
	one := func(x float64) []float64 { return []float64{x} }
	high := one(0)
	laws := loss.Laws{Mean: one(l.computed[1]), Variance: one(l.computed[2]), MeanError: one(l.meanError), VarianceError: one(l.varied)}
	write(&loss.Upper{}, of, l.accuracy, one(l.computed[0]), laws, high)
	return high[0], of, nil
}

// The expected loss of the exact law, and of every law whose draws are moved by no more
// than the accuracy, is at most the bound.
func TestDrawsAreAboveTheExactLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	rows := 2500 // 20,000 were tried
	if testing.Short() {
		rows = 500
	}
	near := map[loss.Kind]int{}
	for i := range rows {
		l := randomLaw(rng)
		kind := kinds[i%len(kinds)]
		hi, of, err := l.bound(kind, (*loss.Upper).Draws)
		fatal.If(t, err)
		share := float64(rng.IntN(3) - 1)
		e := loss.Reference(of, l.y, moved(l.m, share*l.accuracy), l.v)
		if hi < 1 && e.Cmp(exact(hi)) > 0 {
			t.Fatalf("%s, %+v, moved by %g of the accuracy: %.20g is above %.20g", kind, l, share, e, hi)
		}
		if e.Cmp(exact(hi-1e-5)) > 0 {
			near[kind]++
		}
	}
	wantNear(t, near, rows)
}

// wantNear makes sure that some bounds of each loss are near it: without them a test
// shows nothing.
func wantNear(t *testing.T, near map[loss.Kind]int, rows int) {
	t.Helper()
	for _, kind := range kinds {
		if near[kind] < rows/len(kinds)/12 {
			t.Errorf("%s: only %d of %d bounds are within 1e-5 of the loss", kind, near[kind], rows/len(kinds))
		}
	}
}

// The loss of the exact mean, and of every prediction within the accuracy of it, is at
// most the bound; those of a loss of 0 and 1 are whole.
func TestPointsAreAboveTheExactLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	rows, near := 20_000, map[loss.Kind]int{}
	if testing.Short() {
		rows = 4000
	}
	for i := range rows {
		l := randomLaw(rng)
		kind := kinds[i%len(kinds)]
		hi, of, err := l.bound(kind, (*loss.Upper).Points)
		fatal.If(t, err)
		if of.Point(0, 1e9*l.eps) == 1 && of.Point(0, 0.1*l.eps) == 0 && hi != math.Trunc(hi) {
			t.Fatalf("%s, %+v: %g is not whole", kind, l, hi)
		}
		for _, share := range []float64{-1, 0, 1, 2*rng.Float64() - 1} {
			e := loss.Reference(of, l.y, moved(l.m, share*l.accuracy), exact(0))
			if hi < 1 && e.Cmp(exact(hi)) > 0 {
				t.Fatalf("%s, %+v, moved by %g of the accuracy: %.20g is above %.20g", kind, l, share, e, hi)
			}
			if share == 0 && e.Cmp(exact(hi-1e-5)) > 0 {
				near[kind]++
			}
		}
	}
	wantNear(t, near, rows)
}

// The tolerance of a target near 0 is what is left of two large numbers: its rounding costs, and hides nothing.
func TestShareOfASmallTarget(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	within := 0
	for range 4000 {
		off := 1e4 * (1 + rng.Float64())
		gap := off * math.Exp(-24-12*rng.Float64())
		l := law{eps: 100, off: off, computed: [3]float64{gap - off}}
		l.y = new(big.Float).SetPrec(loss.Precision).Mul(exact(gap-off), moved(exact(1), 2*0x1p-53*float64(1-2*rng.IntN(2))))
		l.computed[1] = l.computed[0] + l.eps*gap*(1-0x1p-10*rng.Float64())
		hi, of, err := l.bound(loss.RelativeZeroOne, (*loss.Upper).Points)
		fatal.If(t, err)
		if e := loss.Reference(of, l.y, exact(l.computed[1]), exact(0)); hi < 1 && e.Sign() > 0 {
			t.Fatalf("%+v: within, by a wrong tolerance", l)
		}
		within += 1 - int(hi)
	}
	if within < 200 || within > 3800 {
		t.Errorf("%d of 4000 are within: want some of both", within)
	}
}

// Where law and accuracy are exact, the bound is above the loss by rounding alone.
func TestDrawsAreNearTheExactLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for i := range 500 {
		l := randomLaw(rng)
		l.off = 0.37
		kind := kinds[i%len(kinds)]
		s := l.eps * (0.01 + 10*rng.Float64())
		y := l.eps * (1 + rng.Float64())
		l.computed = [3]float64{y, y + l.eps*2*rng.NormFloat64(), s * s}
		l.meanError, l.varied, l.accuracy = 0, 0, 0
		hi, of, err := l.bound(kind, (*loss.Upper).Draws)
		fatal.If(t, err)
		e, _ := loss.Reference(of, exact(y), exact(l.computed[1]), exact(s*s)).Float64()
		if !(hi-e < 1e-10) {
			t.Errorf("%s, %+v: %.17g is above %.17g by more than rounding", kind, l, hi, e)
		}
	}
}

// What is not known costs 1: no NaN, no infinity gets through.
func TestUnknownLawsCostOne(t *testing.T) {
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
			laws := loss.Laws{Mean: one(c[0]), Variance: one(c[1]), MeanError: one(c[2]), VarianceError: one(c[3])}
			hi := one(0.5)
			new(loss.Upper).Draws(of, 1e-6, one(0.1), laws, hi)
			unknown := math.IsNaN(c[0]+c[1]+c[2]+c[3]) || !(c[2] <= 1e-6) || math.IsInf(c[3], 0)
			if !(0 <= hi[0] && hi[0] <= 1) || unknown && hi[0] != 1 {
				t.Errorf("%s, %v: %g", kind, c, hi[0])
			}
			new(loss.Upper).Points(of, 1e-6, one(0.1), laws, hi)
			if !(0 <= hi[0] && hi[0] <= 1) || !(c[2] <= 1e-6) && hi[0] != 1 {
				t.Errorf("%s, %v: a prediction loses at most %g", kind, c, hi[0])
			}
		}
	}
}
