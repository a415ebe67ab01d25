package pipeline

import "math/rand/v2"

// A reservoir keeps a random sample of the rows so far, each with the same probability (Vitter
// 1985, algorithm R). It depends on their order, the reservoir's size and the seed.
type reservoir struct {
	most, d int
	seed    uint64
	rng     *rand.Rand
	seen    int64
	x, y    []float64
	drawn   packet
}

func newReservoir(t TrainDecl, d int) *reservoir {
	return &reservoir{most: t.Buffer, d: d, seed: t.Seed, rng: rand.New(rand.NewPCG(t.Seed, 0x7061637367700002))} //nolint:gosec // reproducible by intent
}

// behind drops the rows that it has seen already; at is the number of rows before these, and end
// the number up to their end.
func (r *reservoir) behind(x, y []float64, at int64) (xs, ys []float64, end int64) {
	k := min(max(0, r.seen-at), int64(len(y)))
	return x[k*int64(r.d):], y[k:], at + int64(len(y))
}

// add adds rows until it has seen this many in all, and returns the rest.
func (r *reservoir) add(x, y []float64, until int64) (xs, ys []float64) {
	for len(y) > 0 && r.seen < until {
		if len(r.y) < r.most {
			r.x, r.y = append(r.x, x[:r.d]...), append(r.y, y[0])
		} else if slot := r.rng.Int64N(r.seen + 1); slot < int64(r.most) {
			copy(r.x[slot*int64(r.d):], x[:r.d])
			r.y[slot] = y[0]
		}
		x, y, r.seen = x[r.d:], y[1:], r.seen+1
	}
	return x, y
}

// draw returns n random rows for a step, or all if there are fewer. They are valid until the
// next call.
func (r *reservoir) draw(step, n int) (x, y []float64) {
	if n >= len(r.y) {
		return r.x, r.y
	}
	rng := rand.New(rand.NewPCG(r.seed, 0x7061637367700003+uint64(step))) //nolint:gosec // reproducible by intent; steps are not negative
	r.drawn.x, r.drawn.y = r.drawn.x[:0], r.drawn.y[:0]
	for _, i := range rng.Perm(len(r.y))[:n] {
		r.drawn.x, r.drawn.y = append(r.drawn.x, r.x[i*r.d:(i+1)*r.d]...), append(r.drawn.y, r.y[i])
	}
	return r.drawn.x, r.drawn.y
}
