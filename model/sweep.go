package model

import (
	"github.com/pacsgp/pacsgp/model/internal/linalg"
	"github.com/pacsgp/pacsgp/model/loss"
)

// A sweep adds up the sums of one pass for a step. It works with unwhitened kernel columns k, where mean,
// variance and their derivatives need no triangular solve for each row:
//
//	μ = kᵀa,  s² = σ² + kᵀA k,  dE/dk = g a + 2w A k
//
// Of the kernel's family it uses values and slopes s, dk/d(r²) = −s/2. With the relative jitter j, elements of
// A have a size of at most 1/j, and the rounding errors of s² are of order 1e-16 M/j: harmless for training.
// The certificate's predictor is the whitened one.
type sweep struct {
	*prior
	loss      loss.Loss
	back      bool // also collect the derivatives by θ and Z
	valueOnly bool // collect no derivatives
	// keepNegative is the share of negative curvature in bigH, in [0, 1].
	keepNegative float64
	// likelihood is the price of E(f−y)²/2 in units of loss. With evidence, losses have no price.
	likelihood float64
	evidence   bool

	// Of the posterior.
	a    []float64  // [M]
	bigA linalg.Mat // [M×M], symmetric

	// Sums over rows.
	seen    int64
	risk    float64    // Σ E, the losses
	squares float64    // Σ E(f−y)²
	spread  float64    // Σ E², or Σ (E(f−y)²)² with evidence
	h       []float64  // [M]: Σ g k
	bigH    linalg.Mat // [M×M], lower triangle: Σ w k kᵀ, a negative w times keepNegative
	columnSum

	// Of the present block.
	rowBlock
	k, p       linalg.Mat // [B×M]: kernel columns; kᵀA, then G
	slope      linalg.Mat // [B×M]: slopes of the kernel columns; k itself if they are its values
	mu, g, w   []float64
	e, rowSums []float64 // losses; row sums of G
	square     []float64
	total      []float64 // Σ (dE/dk)∘k
	curvature  []float64
}

func newSweep(p *prior, l loss.Loss, m, d int) *sweep {
	vec := func() []float64 { return make([]float64, sweepBlock) }
	s := &sweep{
		prior: p, loss: l,
		rowBlock: rowBlock{dim: d, x: linalg.NewMat(sweepBlock, d+1), xd: linalg.NewMat(sweepBlock, d), y: vec()},
		a:        make([]float64, m), bigA: linalg.NewMat(m, m),
		h: make([]float64, m), bigH: linalg.NewMat(m, m),
		columnSum: columnSum{gx: linalg.NewMat(m, d+1), gx2: make([]float64, d)},
		k:         linalg.NewMat(sweepBlock, m), p: linalg.NewMat(sweepBlock, m),
		mu: vec(), g: vec(), w: vec(), e: vec(), square: vec(), rowSums: vec(), curvature: vec(), total: vec(),
		keepNegative: 1,
	}
	s.slope = slopesOf(p.profile, s.k)
	return s
}

// reset clears the sums for a pass with the present a and A.
func (s *sweep) reset(back bool) {
	s.back = back
	s.seen, s.risk, s.squares, s.spread, s.rows = 0, 0, 0, 0, 0
	clear(s.h)
	clear(s.bigH.Data)
	s.columnSum.reset()
}

// add gathers rows, and computes whenever a block is full. Far rows count as lost and have no gradient.
func (s *sweep) add(x, y []float64) {
	s.collect(x, y, s.prior, func() {
		s.seen++
		s.risk++
		s.spread++
	}, s.flush)
}

// flush adds the rows of the block to the sums, and empties the block.
func (s *sweep) flush() {
	slope := linalg.Mat{}
	if s.back {
		slope = s.slope
	}
	n, m := s.kernel(s.prior, s.k, slope), s.z.Rows
	if n == 0 {
		return
	}
	k, p := s.k.Slice(0, n, 0, m), s.p.Slice(0, n, 0, m)
	parts := 1.0
	if s.back {
		s.pool.Gemm(false, false, 1, k, s.bigA, 0, p)
	} else {
		parts = 2
		s.half(s.bigA, k, p)
	}
	s.pool.For(n, func(i int) {
		s.mu[i] = linalg.Dot(k.Row(i), s.a)
		v := s.variance + float64(parts*linalg.Dot(k.Row(i), p.Row(i)))
		s.e[i], s.g[i], s.w[i] = s.loss.Gradient(s.y[i], s.mu[i], v)
		off := s.mu[i] - s.y[i]
		s.square[i] = float64(off*off) + max(0, v)
		if s.evidence {
			s.g[i], s.w[i] = 0, 0
		}
		s.g[i] += float64(s.likelihood * off)
		s.w[i] += 0.5 * s.likelihood
		s.curvature[i] = s.w[i]
		if s.w[i] < 0 {
			s.curvature[i] *= s.keepNegative
		}
	})
	s.seen += int64(n)
	for i := range n {
		s.risk += s.e[i]
		s.squares += s.square[i]
		if s.evidence {
			s.spread += s.square[i] * s.square[i]
		} else {
			s.spread += s.e[i] * s.e[i]
		}
		s.gSelf += s.w[i]
	}
	if s.valueOnly {
		return
	}
	s.pool.Gemm(true, false, 1, k, view(s.g[:n], 1), 1, view(s.h, 1))
	s.pool.SyrkWeighted(s.curvature[:n], k, 1, s.bigH)
	if s.back {
		s.backward(n, k, slope.Slice(0, n, 0, m), p)
	}
}

// half sets p to kᵀ times the lower triangle of the symmetric t with half its diagonal. Then kᵀTk is twice pᵀk,
// at half the work.
func (s *sweep) half(t, k, p linalg.Mat) {
	scaleDiagonal(t, 0.5)
	s.pool.TrmmRightLower(t, k, p)
	scaleDiagonal(t, 2)
}

// scaleDiagonal multiplies the diagonal of t. A power of two causes no rounding.
func scaleDiagonal(t linalg.Mat, by float64) {
	for i := range t.Rows {
		t.Row(i)[i] *= by
	}
}

// backward overwrites p = kᵀA with G = (g a + 2w p)∘s and adds up its moments.
func (s *sweep) backward(n int, k, slope, p linalg.Mat) {
	s.pool.For(n, func(i int) {
		g, w2 := s.g[i], 2*s.w[i]
		kr := k.Row(i)
		pr, a := p.Row(i)[:len(kr)], s.a[:len(kr)]
		sum, total := 0.0, 0.0
		if s.profile.SlopeIsValue { // the slopes are the values
			for j, kj := range kr {
				t := (float64(g*a[j]) + float64(w2*pr[j])) * kj
				pr[j] = t
				sum += t
			}
			s.rowSums[i], s.total[i] = sum, sum
			return
		}
		sr := slope.Row(i)[:len(kr)]
		for j, kj := range kr {
			t := float64(g*a[j]) + float64(w2*pr[j])
			total += float64(t * kj)
			pr[j] = t * sr[j]
			sum += pr[j]
		}
		s.rowSums[i], s.total[i] = sum, total
	})
	s.pool.Gemm(true, false, 1, p, s.x.Slice(0, n, 0, s.dim+1), 1, s.gx)
	for i := range n {
		s.gTotal += s.total[i]
		for j, v := range s.xd.Row(i) {
			s.gx2[j] += s.rowSums[i] * v * v
		}
	}
}
