package loss

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// Laws are the distributions N(m, s²) of the predictions of some rows, in scaled units, known up to proven errors.
type Laws struct {
	Mean, Variance []float64
	// MeanError and VarianceError are upper bounds on |Mean − m| and |Variance − s²|. NaN and infinities mean
	// that there is no bound.
	MeanError, VarianceError []float64
}

// NewLaws returns Laws with memory for n rows.
func NewLaws(n int) Laws {
	return Laws{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
}

// Slice returns rows [i, j), sharing memory.
func (l Laws) Slice(i, j int) Laws {
	return Laws{l.Mean[i:j], l.Variance[i:j], l.MeanError[i:j], l.VarianceError[i:j]}
}

// An Upper computes upper bounds on losses. They hold for the stored numbers in exact arithmetic
// (docs/explanation/theory.md, 10). A target is (y − centre)/scale, both operations rounded: it is off by at most
// 2.01u of itself, u = 2⁻⁵³. The accuracy ≥ 0, in scaled units, is the greatest error of a reader's predictions:
// bounds hold for every prediction within it. The zero value is ready to use. Not for concurrent use.
type Upper struct {
	accuracy float64
	scratch  [3][]float64 // arguments and values of Φ and φ
}

// An upper writes to hi upper bounds on the losses of rows whose errors are finite.
type upper interface {
	// draws bounds the expected losses of draws. room holds, for each row, a bound on the error of its distance
	// |m − y|.
	draws(r *Upper, ys []float64, laws Laws, room, hi []float64)
	// points is draws for the losses of the means.
	points(r *Upper, ys []float64, laws Laws, room, hi []float64)
	// size is the length that the rounding of tolerances is relative to.
	size() float64
}

const (
	unitRoundoff = 0x1p-53
	// rounding bounds the error of the arithmetic of a bound: 20u for two values of
	// Φ (7u each, and arguments within 4u: |xφ(x)| < 0.25), and as much to spare.
	rounding = 0x1p-48
	// farAway is the number of deviations from an edge beyond which Φ is below 10⁻¹⁸.
	farAway = 9
)

// Draws writes to hi upper bounds, in [0, 1], on each row's expected loss, for every prediction within the
// accuracy of a draw. A row whose mean is not proven to be within the accuracy gets 1. Rows do not depend on
// each other, nor do results on the machine.
func (r *Upper) Draws(l Loss, accuracy float64, ys []float64, laws Laws, hi []float64) {
	r.bounds(l, accuracy, ys, laws, l.draws, r.proven, hi)
}

// Points does the same for the losses of the means, for every prediction that is within the accuracy of the
// exact mean. Variances are not read. If losses are 0 or 1, so are the bounds.
func (r *Upper) Points(l Loss, accuracy float64, ys []float64, laws Laws, hi []float64) {
	r.bounds(l, accuracy, ys, laws, l.points, r.near, hi)
}

// bounds calls write for all rows, and then sets bounds of rows that are not proven to 1.
func (r *Upper) bounds(
	l Loss, accuracy float64, ys []float64, laws Laws,
	write func(r *Upper, ys []float64, laws Laws, room, hi []float64), proven func(laws Laws, i int) bool, hi []float64,
) {
	r.accuracy = accuracy
	room, size := r.take(2, len(ys)), l.size()
	for i, y := range ys {
		// Covers the error of the distance |m − y| and of its difference from a tolerance.
		room[i] = (laws.MeanError[i] + float64(6*unitRoundoff*(math.Abs(laws.Mean[i])+math.Abs(y)+size))) * (1 + 0x1p-40)
	}
	write(r, ys, laws, room, hi)
	for i := range ys {
		if !proven(laws, i) || !(hi[i] <= 1) { // written so that NaN fails
			hi[i] = 1
		}
		hi[i] = max(0, hi[i])
	}
}

// proven reports whether row i has a mean with an error within the accuracy, and a variance with a finite error.
func (r *Upper) proven(laws Laws, i int) bool {
	return r.near(laws, i) && laws.VarianceError[i] <= math.MaxFloat64 && !math.IsNaN(laws.Variance[i])
}

// near reports whether row i has a mean with an error within the accuracy.
func (r *Upper) near(laws Laws, i int) bool { return laws.MeanError[i] <= r.accuracy }

// take returns scratch slice which, with n elements.
func (r *Upper) take(which, n int) []float64 {
	if cap(r.scratch[which]) < n {
		r.scratch[which] = make([]float64, n)
	}
	return r.scratch[which][:n]
}

// reach returns the least and the largest size of a distance, given its computed value and a bound on its error.
func reach(distance, room float64) (least, largest float64) {
	g := math.Abs(distance)
	return max(0, g-room), g + room
}

// deviations returns the least and the largest standard deviation of row i.
func (l Laws) deviations(i int) (least, largest float64) {
	v, e := l.Variance[i], l.VarianceError[i]
	return math.Sqrt(max(0, v-e)), math.Sqrt(max(0, v+e))
}

// middle returns how far the middle of a band is above the target.
func (l band) middle() float64 { return (l.above - l.below) / 2 }

// inner returns a lower bound on half the width of a target's band, less the accuracy. For RelativeZeroOne it
// allows for rounding of the offset, the target, their sum, the product and the difference. Together these move
// |y + offset| by less than 8u(|y| + |offset|).
func (l band) inner(y, accuracy float64) float64 {
	if l.kind != RelativeZeroOne {
		half := (l.above + l.below) / 2
		return half - accuracy
	}
	size := math.Abs(y+l.offset) - float64(8*unitRoundoff*(math.Abs(y)+math.Abs(l.offset)))
	return float64(l.below*size) - accuracy
}

// draws uses that the expectation of a band at distance g from its middle, with half its width w, is
//
//	Φ((g−w)/s) + Φ(−(g+w)/s)
//
// where each term is monotone in g, in w and, on each side of its sign, in s.
func (l band) draws(r *Upper, ys []float64, laws Laws, room, hi []float64) {
	args := r.take(0, 2*len(ys))
	for i, y := range ys {
		inner := l.inner(y, r.accuracy)
		least, most := reach(laws.Mean[i]-y-l.middle(), room[i])
		small, large := laws.deviations(i)
		args[2*i] = (most - inner) / pick(most > inner, small, large)
		args[2*i+1] = -(least + inner) / large
	}
	linalg.NormCDF(args, args)
	for i, y := range ys {
		hi[i] = args[2*i] + args[2*i+1] + rounding
		if !(l.inner(y, r.accuracy) > 0) {
			hi[i] = 1
		}
	}
}

// points uses that all predictions within the accuracy of a mean are inside the band if the mean is inside by
// that much.
func (l band) points(r *Upper, ys []float64, laws Laws, room, hi []float64) {
	for i, y := range ys {
		_, most := reach(laws.Mean[i]-y-l.middle(), room[i])
		hi[i] = pick(most < l.inner(y, r.accuracy), 0, 1)
	}
}

// size is 0 for RelativeZeroOne, because inner accounts for the rounding of its tolerance.
func (l band) size() float64 {
	if l.kind == RelativeZeroOne {
		return 0
	}
	return l.above + l.below
}

func pick(condition bool, yes, no float64) float64 {
	if condition {
		return yes
	}
	return no
}

// draws uses that 1 − E = exp(−(g/ε)²/k)/√k, k = 1 + 2(s/ε)², has factors that are monotone in g and s. The
// loss has slope √(2/e)/ε at most.
func (l exponential) draws(r *Upper, ys []float64, laws Laws, room, hi []float64) {
	args := r.take(0, len(ys))
	k := func(s float64) float64 {
		t := s / l.epsilon
		return 1 + float64(2*float64(t*t))
	}
	for i, y := range ys {
		_, most := reach(laws.Mean[i]-y, room[i])
		small, _ := laws.deviations(i)
		most /= l.epsilon
		args[i] = -most * most / k(small)
	}
	linalg.Exp(args, args)
	modulus := 0.858*r.accuracy/l.epsilon + rounding
	for i := range args {
		_, large := laws.deviations(i)
		hi[i] = 1 - args[i]/math.Sqrt(k(large)) + modulus
	}
}

func (l exponential) points(r *Upper, ys []float64, laws Laws, room, hi []float64) {
	args := r.take(0, len(room))
	for i, y := range ys {
		most := r.farthest(laws.Mean[i]-y, room[i]) / l.epsilon
		args[i] = -most * most
	}
	linalg.Exp(args, args)
	for i := range room {
		hi[i] = 1 - args[i] + rounding
	}
}

// farthest returns an upper bound on the distance from the target of all predictions within the accuracy.
func (r *Upper) farthest(distance, room float64) float64 {
	_, most := reach(distance, (room+r.accuracy)*(1+0x1p-40))
	return most
}

func (l exponential) size() float64 { return 2 * l.epsilon }

// A slope is a loss that rises with |v−y| from 0 to 1 at t, and stays 1 beyond: t = ε for the squared loss, |y|
// for the relative one. With g = |m−y|, A = (−t−g)/s, C = (t−g)/s,
//
//	E = Φ(A) + Φ(−C) + inside
//
// It rises with g and falls with t. If s moves, it moves by at most 0.8·steepest/t times as much, because |ξ|
// is below 0.8 on average for a standard normal ξ.
type slope struct {
	steepest float64 // greatest slope of the loss, in units of 1/t
	// inside returns the part of E from |v−y| < t, given Φ and φ at A, −C and −g/s, and a bound on what rounding adds.
	inside func(g, s, t float64, cdf, pdf []float64) (e, off float64)
	// tolerance returns a lower bound on the t of a target.
	tolerance func(y float64) float64
}

func (d slope) draws(r *Upper, ys []float64, laws Laws, room, hi []float64) {
	const each = 3 // arguments of Φ and φ for a row
	cdf, pdf := r.take(0, each*len(room)), r.take(1, each*len(room))
	end := func(i int) (g, s, t, apart float64) {
		_, most := reach(laws.Mean[i]-ys[i], room[i])
		small, large := laws.deviations(i)
		return most, large, d.tolerance(ys[i]), large - small + float64(4*unitRoundoff*large)
	}
	for i := range room {
		g, s, t, _ := end(i)
		to := cdf[each*i:]
		to[0], to[1], to[2] = (-t-g)/s, (g-t)/s, -g/s
	}
	linalg.NormCDFPDF(cdf, pdf, cdf)
	for i := range room {
		g, s, t, apart := end(i)
		at := each * i
		hi[i] = d.expectation(g, s, t, cdf[at:at+each], pdf[at:at+each])
		hi[i] += float64(d.steepest*(float64(0.8*apart)+r.accuracy))/t + rounding
		if !(t > 0) {
			hi[i] = 1
		}
	}
}

// expectation returns an upper bound on E, except for the rounding of Φ. For s above 1024t it is 1, because the
// density, below 0.4/s, leaves next to nothing inside.
func (d slope) expectation(g, s, t float64, cdf, pdf []float64) float64 {
	if g-t > farAway*s || s > 1024*t {
		return 1
	}
	e, off := d.inside(g, s, t, cdf, pdf)
	return cdf[0] + cdf[1] + max(0, e) + off
}

// squaredInside is the part of the squared loss inside t:
//
//	((g²+s²)D + 2gs(φ(A)−φ(C)) + s²(Aφ(A)−Cφ(C)))/t²
//
// Each factor of Φ and φ is off by less than 20u, so that the sum is off by less than 64u(g²+s²)/t².
func squaredInside(g, s, t float64, cdf, pdf []float64) (e, off float64) {
	a, c := (-t-g)/s, (t-g)/s
	d := 1 - cdf[0] - cdf[1]
	size, v := float64(g*g)+float64(s*s), float64(s*s)
	sum := float64(size*d) + float64(2*g*s*(pdf[0]-pdf[1])) + float64(v*(float64(a*pdf[0])-float64(c*pdf[1])))
	return sum / (t * t), 64 * unitRoundoff * size / (t * t)
}

func (l squared) draws(r *Upper, ys []float64, laws Laws, room, hi []float64) {
	slope{2, squaredInside, func(float64) float64 { return l.epsilon }}.draws(r, ys, laws, room, hi)
}

func (l squared) points(r *Upper, ys []float64, laws Laws, room, hi []float64) {
	for i, y := range ys {
		most := min(r.farthest(laws.Mean[i]-y, room[i])/l.epsilon, 1)
		hi[i] = float64(most*most) + rounding
	}
}

func (l squared) size() float64 { return 2 * l.epsilon }

// relativeInside is the part of the relative loss inside t:
//
//	(g(Φ(C)−2Φ(−g/s)+Φ(A)) + s(2φ(g/s)−φ(A)−φ(C)))/t
//
// It is off by less than 64u(g+s)/t.
func relativeInside(g, s, t float64, cdf, pdf []float64) (e, off float64) {
	sum := float64(g*(1-cdf[1]-float64(2*cdf[2])+cdf[0])) + float64(s*(float64(2*pdf[2])-pdf[0]-pdf[1]))
	return sum / t, 64 * unitRoundoff * (g + s) / t
}

// draws takes a lower bound on the raw target's size in scaled units, which is off by the rounding of the
// scaled target and of its sum with the offset. A target of 0 costs 1.
func (l relative) draws(r *Upper, ys []float64, laws Laws, room, hi []float64) {
	slope{1, relativeInside, l.tolerance}.draws(r, ys, laws, room, hi)
}

func (l relative) tolerance(y float64) float64 {
	return math.Abs(y+l.offset) - float64(6*unitRoundoff*(math.Abs(y)+math.Abs(l.offset)))
}

func (l relative) points(r *Upper, ys []float64, laws Laws, room, hi []float64) {
	for i, y := range ys {
		t := l.tolerance(y)
		hi[i] = min(r.farthest(laws.Mean[i]-y, room[i])/t, 1) + rounding
		if !(t > 0) {
			hi[i] = 1
		}
	}
}

func (l relative) size() float64 { return math.Abs(l.offset) }
