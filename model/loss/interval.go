package loss

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// Laws are the laws N(m, s²) of the predictions of some rows, known up to proven errors,
// and the rows' targets, all in scaled units and all of one length.
type Laws struct {
	// Y is (y − centre)/scale, both operations rounded: |error| ≤ 2.01u|Y|, u = 2⁻⁵³.
	Y              []float64
	Mean, Variance []float64
	// MeanError and VarianceError bound |Mean − m| and |Variance − s²|. NaN and
	// infinities say that nothing is known.
	MeanError, VarianceError []float64
}

// An Interval bounds expected losses from both sides, for the stored numbers in exact
// arithmetic (docs/proofs.md, 10). It is for one goroutine.
type Interval struct {
	loss     Loss
	accuracy float64
	scratch  [6][]float64 // arguments and values of Φ and φ
}

// A side writes upper and lower bounds for rows whose errors are finite.
type side interface {
	// interval gets the laws, the bound on each row's distance error, and the accuracy.
	interval(r *Interval, laws Laws, room, lo, hi []float64)
	// points is interval for the means alone.
	points(r *Interval, laws Laws, room, lo, hi []float64)
	// size is the length by which rounding of the tolerances is measured.
	size() float64
}

// NewInterval returns the interval of a loss of this package. accuracy ≥ 0, in scaled
// units, is what a reader's prediction may be off by: upper ends hold for every prediction
// within accuracy of a draw, lower ends are below the loss of each of them.
func NewInterval(l Loss, accuracy float64) *Interval {
	return &Interval{loss: l, accuracy: accuracy}
}

// Of reports whether r is the interval of this loss and accuracy.
func (r *Interval) Of(l Loss, accuracy float64) bool { return r.loss == l && r.accuracy == accuracy }

const (
	unitRoundoff = 0x1p-53
	// rounding is what the arithmetic of an interval may be off by: 20u for two values of
	// Φ (4 ulp each, and arguments within 4u: |xφ(x)| < 0.25), and as much to spare.
	rounding = 0x1p-48
	// beyond this many deviations from an edge Φ is below 10⁻¹⁸.
	farAway = 9
)

// Bounds writes lower and upper bounds of each row's expected loss to lo and hi, in
// [0, 1]. A row whose mean is not proven to be within the accuracy gets 0 and 1. Rows do
// not depend on each other, nor does a result on the machine.
func (r *Interval) Bounds(laws Laws, lo, hi []float64) {
	r.bounds(laws, r.loss.interval, r.proven, lo, hi)
}

// Points does the same for the losses of the means: of every prediction that is within
// the accuracy of the exact mean. Variances are not looked at. A loss that is 0 or 1 has
// whole bounds.
func (r *Interval) Points(laws Laws, lo, hi []float64) {
	r.bounds(laws, r.loss.points, r.near, lo, hi)
}

func (r *Interval) bounds(
	laws Laws, side func(r *Interval, laws Laws, room, lo, hi []float64), proven func(laws Laws, i int) bool, lo, hi []float64,
) {
	n := len(laws.Y)
	room := r.take(5, n)
	size := r.loss.size()
	for i, y := range laws.Y {
		// Of the distance |m − y| and of its difference to a tolerance.
		room[i] = (laws.MeanError[i] + float64(6*unitRoundoff*(math.Abs(laws.Mean[i])+math.Abs(y)+size))) * (1 + 0x1p-40)
	}
	side(r, laws, room, lo, hi)
	for i := range n {
		if !proven(laws, i) || !(lo[i] <= hi[i]) {
			lo[i], hi[i] = 0, 1
		}
		lo[i], hi[i] = max(0, min(1, lo[i])), max(0, min(1, hi[i]))
	}
}

// proven reports whether row i's mean is known to within the accuracy, and its variance.
func (r *Interval) proven(laws Laws, i int) bool {
	return r.near(laws, i) && laws.VarianceError[i] <= math.MaxFloat64 && !math.IsNaN(laws.Variance[i])
}

// near reports whether row i's mean is known to within the accuracy.
func (r *Interval) near(laws Laws, i int) bool { return laws.MeanError[i] <= r.accuracy }

// take returns scratch memory of n numbers.
func (r *Interval) take(which, n int) []float64 {
	if cap(r.scratch[which]) < n {
		r.scratch[which] = make([]float64, n)
	}
	return r.scratch[which][:n]
}

// reach returns the least and the largest distance from a centre, given a computed
// distance and its error.
func reach(distance, room float64) (least, most float64) {
	g := math.Abs(distance)
	return max(0, g-room), g + room
}

// deviations returns the least and the largest deviation of row i.
func (l Laws) deviations(i int) (least, most float64) {
	v, e := l.Variance[i], l.VarianceError[i]
	return math.Sqrt(max(0, v-e)), math.Sqrt(max(0, v+e))
}

// The expectation of a band at distance g from its middle, with half its width w, is
//
//	Φ((g−w)/s) + Φ(−(g+w)/s)
//
// and each term is monotone in g, in w and, on each side of its sign, in s.
func (l band) interval(r *Interval, laws Laws, room, lo, hi []float64) {
	n := len(laws.Y)
	middle, half := (l.above-l.below)/2, (l.above+l.below)/2
	inner, outer := half-r.accuracy, half+r.accuracy
	args := r.take(0, 4*n)
	for i, y := range laws.Y {
		least, most := reach(laws.Mean[i]-y-middle, room[i])
		small, large := laws.deviations(i)
		at := args[4*i : 4*i+4]
		at[0] = (most - inner) / pick(most > inner, small, large)
		at[1] = -(least + inner) / large
		at[2] = (least - outer) / pick(least > outer, large, small)
		at[3] = -(most + outer) / small
	}
	linalg.NormCDF(args, args)
	for i := range n {
		hi[i] = args[4*i] + args[4*i+1] + rounding
		lo[i] = args[4*i+2] + args[4*i+3] - rounding
		if !(inner > 0) {
			hi[i] = 1
		}
	}
}

// A prediction within the accuracy is inside if the mean is inside by so much.
func (l band) points(r *Interval, laws Laws, room, lo, hi []float64) {
	middle, half := (l.above-l.below)/2, (l.above+l.below)/2
	inner, outer := half-r.accuracy, half+r.accuracy
	for i, y := range laws.Y {
		least, most := reach(laws.Mean[i]-y-middle, room[i])
		lo[i], hi[i] = pick(least > outer, 1, 0), pick(most < inner, 0, 1)
	}
}

func (l band) size() float64 { return l.above + l.below }

func pick(condition bool, yes, no float64) float64 {
	if condition {
		return yes
	}
	return no
}

// 1 − E = exp(−(g/ε)²/k)/√k, k = 1 + 2(s/ε)²: the factors are monotone in g and s. The
// loss has slope √(2/e)/ε at most.
func (l exponential) interval(r *Interval, laws Laws, room, lo, hi []float64) {
	n := len(laws.Y)
	args := r.take(0, 2*n)
	k := func(s float64) float64 {
		t := s / l.epsilon
		return 1 + float64(2*float64(t*t))
	}
	for i, y := range laws.Y {
		least, most := reach(laws.Mean[i]-y, room[i])
		small, large := laws.deviations(i)
		least, most = least/l.epsilon, most/l.epsilon
		args[2*i] = -most * most / k(small)
		args[2*i+1] = -least * least / k(large)
	}
	linalg.Exp(args, args)
	modulus := 0.858*r.accuracy/l.epsilon + rounding
	for i := range n {
		small, large := laws.deviations(i)
		hi[i] = 1 - args[2*i]/math.Sqrt(k(large)) + modulus
		lo[i] = 1 - args[2*i+1]/math.Sqrt(k(small)) - modulus
	}
}

func (l exponential) points(r *Interval, laws Laws, room, lo, hi []float64) {
	args := r.take(0, 2*len(room))
	for i, y := range laws.Y {
		least, most := r.pointReach(laws.Mean[i]-y, room[i])
		least, most = least/l.epsilon, most/l.epsilon
		args[2*i], args[2*i+1] = -most*most, -least*least
	}
	linalg.Exp(args, args)
	for i := range room {
		hi[i], lo[i] = 1-args[2*i]+rounding, 1-args[2*i+1]-rounding
	}
}

// pointReach is [reach] for every prediction within the accuracy.
func (r *Interval) pointReach(distance, room float64) (least, most float64) {
	return reach(distance, (room+r.accuracy)*(1+0x1p-40))
}

func (l exponential) size() float64 { return 2 * l.epsilon }

// A slope is a loss that rises with |v−y|, from 0 to 1 at t, where it stays: t = ε for
// the squared loss, |y| for the relative one. With g = |m−y|, A = (−t−g)/s, C = (t−g)/s,
//
//	E = Φ(A) + Φ(−C) + inside
//
// It rises with g and falls with t. It moves with s by at most 0.8·steepest/t times what
// s moves by, because |ξ| is below 0.8 on average for a standard normal ξ.
type slope struct {
	steepest float64
	// inside is the part of |v−y| < t, from Φ and φ at A, −C and −g/s, and a bound on
	// what rounding adds.
	inside func(g, s, t float64, cdf, pdf []float64) (e, off float64)
	// tolerance is between these.
	tolerance func(y float64) (least, most float64)
}

func (d slope) interval(r *Interval, laws Laws, room, lo, hi []float64) {
	const each = 3 // points for each end
	cdf, pdf := r.take(0, 2*each*len(room)), r.take(1, 2*each*len(room))
	ends := func(i int) (upper, lower, apart slopeEnd) {
		least, most := reach(laws.Mean[i]-laws.Y[i], room[i])
		small, large := laws.deviations(i)
		tLeast, tMost := d.tolerance(laws.Y[i])
		return slopeEnd{most, large, tLeast}, slopeEnd{least, large, tMost}, slopeEnd{s: large - small + float64(4*unitRoundoff*large), t: tLeast}
	}
	for i := range room {
		upper, lower, _ := ends(i)
		upper.points(cdf[2*each*i:])
		lower.points(cdf[2*each*i+each:])
	}
	linalg.NormCDFPDF(cdf, pdf, cdf)
	for i := range room {
		upper, lower, apart := ends(i)
		at := 2 * each * i
		move := float64(d.steepest*(float64(0.8*apart.s)+r.accuracy))/apart.t + rounding
		_, hi[i] = d.expectation(upper, cdf[at:at+each], pdf[at:at+each])
		lo[i], _ = d.expectation(lower, cdf[at+each:at+2*each], pdf[at+each:at+2*each])
		// A draw is within t of y with a probability of at most 0.8t over its deviation.
		small, _ := laws.deviations(i)
		far := 1 - float64(0.8*(lower.t+r.accuracy))/small - rounding // −Inf if the law may be a point
		hi[i], lo[i] = hi[i]+move, lo[i]-move
		if !(apart.t > 0) {
			lo[i], hi[i] = 0, 1
		}
		if far > lo[i] {
			lo[i] = min(far, hi[i])
		}
	}
}

// A slopeEnd is a distance, a deviation and a tolerance.
type slopeEnd struct{ g, s, t float64 }

func (e slopeEnd) points(to []float64) {
	to[0], to[1], to[2] = (-e.t-e.g)/e.s, (e.g-e.t)/e.s, -e.g/e.s
}

// expectation returns bounds on E, but for the rounding of Φ.
func (d slope) expectation(at slopeEnd, cdf, pdf []float64) (lo, hi float64) {
	switch {
	case at.g-at.t > farAway*at.s:
		return 1 - rounding, 1
	case at.s > 1024*at.t: // the density is below 0.4/s
		return 1 - 0.8*at.t/at.s, 1
	}
	e, off := d.inside(at.g, at.s, at.t, cdf, pdf)
	e = cdf[0] + cdf[1] + max(0, e)
	return e - off, e + off
}

// The square of the loss's argument, inside:
//
//	((g²+s²)D + 2gs(φ(A)−φ(C)) + s²(Aφ(A)−Cφ(C)))/t²
//
// Each factor of Φ and φ is off by less than 20u, so that the sum is by less than 64u(g²+s²)/t².
func squaredInside(g, s, t float64, cdf, pdf []float64) (e, off float64) {
	a, c := (-t-g)/s, (t-g)/s
	d := 1 - cdf[0] - cdf[1]
	size, v := float64(g*g)+float64(s*s), float64(s*s)
	sum := float64(size*d) + float64(2*g*s*(pdf[0]-pdf[1])) + float64(v*(float64(a*pdf[0])-float64(c*pdf[1])))
	return sum / (t * t), 64 * unitRoundoff * size / (t * t)
}

func (l squared) interval(r *Interval, laws Laws, room, lo, hi []float64) {
	slope{2, squaredInside, func(float64) (least, most float64) { return l.epsilon, l.epsilon }}.interval(r, laws, room, lo, hi)
}

func (l squared) points(r *Interval, laws Laws, room, lo, hi []float64) {
	for i, y := range laws.Y {
		least, most := r.pointReach(laws.Mean[i]-y, room[i])
		least, most = min(least/l.epsilon, 1), min(most/l.epsilon, 1)
		hi[i], lo[i] = float64(most*most)+rounding, float64(least*least)-rounding
	}
}

func (l squared) size() float64 { return 2 * l.epsilon }

// The loss's argument, inside:
//
//	(g(Φ(C)−2Φ(−g/s)+Φ(A)) + s(2φ(g/s)−φ(A)−φ(C)))/t
//
// off by less than 64u(g+s)/t.
func relativeInside(g, s, t float64, cdf, pdf []float64) (e, off float64) {
	sum := float64(g*(1-cdf[1]-float64(2*cdf[2])+cdf[0])) + float64(s*(float64(2*pdf[2])-pdf[0]-pdf[1]))
	return sum / t, 64 * unitRoundoff * (g + s) / t
}

// The raw target's size in scaled units is off by rounding of the scaled target and of
// its sum with the offset. A target of 0 costs 1.
func (l relative) interval(r *Interval, laws Laws, room, lo, hi []float64) {
	slope{1, relativeInside, l.tolerance}.interval(r, laws, room, lo, hi)
}

func (l relative) tolerance(y float64) (least, most float64) {
	t, room := math.Abs(y+l.offset), float64(6*unitRoundoff*(math.Abs(y)+math.Abs(l.offset)))
	return t - room, t + room
}

func (l relative) points(r *Interval, laws Laws, room, lo, hi []float64) {
	for i, y := range laws.Y {
		least, most := r.pointReach(laws.Mean[i]-y, room[i])
		tLeast, tMost := l.tolerance(y)
		hi[i], lo[i] = min(most/tLeast, 1)+rounding, min(least/tMost, 1)-rounding
		if !(tLeast > 0) {
			lo[i], hi[i] = 0, 1
		}
	}
}

func (l relative) size() float64 { return math.Abs(l.offset) }
