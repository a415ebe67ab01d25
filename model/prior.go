package model

import (
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// A prior is the distribution of the values at the inducing points, with covariance K_ZZ + jI = LLᵀ, and
// scratch for derivatives by θ and Z.
type prior struct {
	pool    *linalg.Pool
	profile *linalg.Profile
	of      []int   // [d]: the index in θ of each input's lengthscale
	jitter  float64 // relative to the variance

	// Computed by set from θ and Z.
	z        linalg.Mat // [M×d]
	origin   []float64  // [d]: origin of kernel blocks, the middle of usual rows
	limit    []float64  // [d]: greatest distance of a usual row from the origin
	invScale []float64  // [d]
	variance float64
	kuu      linalg.Mat // [M×M]: K_ZZ without jitter
	kuuSlope linalg.Mat // [M×M]: its slopes; kuu itself if they are its values
	white    whitener

	pull   linalg.Mat // [M×M] scratch; empty if slopes are values
	vector []float64  // [M]
	zOnes  linalg.Mat // [M×(d+1)]: z and a column of ones
	zPull  linalg.Mat // [M×(d+1)]
}

func newPrior(pool *linalg.Pool, profile *linalg.Profile, thetaOf []int, jitter float64, m int) *prior {
	kuu, d := linalg.NewMat(m, m), len(thetaOf)
	p := &prior{
		pool: pool, profile: profile, of: thetaOf, jitter: jitter, invScale: make([]float64, d),
		kuu: kuu, kuuSlope: slopesOf(profile, kuu), white: newWhitener(m),
		vector: make([]float64, m), zOnes: linalg.NewMat(m, d+1), zPull: linalg.NewMat(m, d+1),
	}
	if !profile.SlopeIsValue {
		p.pull = linalg.NewMat(m, m)
	}
	return p
}

// set computes K_ZZ and L for z and θ, which holds the ln lengthscales and ln variance.
func (p *prior) set(theta []float64, z linalg.Mat) error {
	expandScales(theta, p.of, p.invScale)
	p.variance = math.Exp(theta[len(theta)-1])
	p.z, p.origin, p.limit = z, medians(z), limits(z)
	p.pool.Kernel(p.profile, z, z, p.origin, p.invScale, p.variance, p.kuu, p.kuuSlope)
	l := p.white.l
	copyMat(p.pool, l, p.kuu)
	for i := range z.Rows {
		l.Row(i)[i] += p.jitter * p.variance
	}
	if !p.pool.Cholesky(l) {
		return fmt.Errorf("model: factorize K_ZZ (M=%d, relative jitter %g): %w", z.Rows, p.jitter, ErrNotPositiveDefinite)
	}
	p.white.prepare(p.pool)
	return nil
}

// A columnSum adds up what kernel columns contribute to the derivatives of F by θ and Z.
type columnSum struct {
	gx     linalg.Mat // [M×(d+1)]: Σ_i G_ij (x_i, 1), with G = (dF/dk)∘slope
	gx2    []float64  // [d]: Σ_ij G_ij x_i²
	gTotal float64    // Σ_ij (dF/dk)_ij k_ij
	gSelf  float64    // Σ_i dF/dk(x_i, x_i)
}

func (c *columnSum) reset() {
	clear(c.gx.Data)
	clear(c.gx2)
	c.gTotal, c.gSelf = 0, 0
}

// gradient sets dst to the derivatives of F by θ and Z: through kernel columns, whose sums are columns, and
// through K_ZZ. square is −dF/dK_ZZ, symmetric, and is overwritten.
func (p *prior) gradient(columns columnSum, square linalg.Mat, dst hyperGradient) {
	clear(dst.theta)
	clear(dst.z.Data)
	p.columnPart(columns, dst)
	p.squarePart(square, dst)
}

// columnPart adds the contribution of the kernel columns k(x, z) and of k(x, x) = σ². The derivative by ln l_j
// gets Σ G (x−z)_j²/l_j², that by z gets Σ_i G (x−z)/l², and that by ln σ² gets Σ (dF/dk)∘k + σ²Σ dF/dk(x, x).
func (p *prior) columnPart(c columnSum, dst hyperGradient) {
	d := len(p.invScale)
	dst.theta[len(dst.theta)-1] += c.gTotal + p.variance*c.gSelf
	for j := range d {
		inv2 := p.invScale[j] * p.invScale[j]
		sum := c.gx2[j]
		for i := range p.z.Rows {
			z, gx, g := p.z.Row(i)[j], c.gx.Row(i)[j], c.gx.Row(i)[d]
			sum += z * (z*g - 2*gx)
			dst.z.Row(i)[j] += (gx - z*g) * inv2
		}
		dst.theta[p.of[j]] += sum * inv2
	}
}

// squarePart adds the contribution of K_ZZ + jI. The jitter is a multiple of σ².
func (p *prior) squarePart(square linalg.Mat, dst hyperGradient) {
	m, d, pulls := square.Rows, len(p.invScale), p.pull
	if pulls.Data == nil {
		pulls = square
	}
	p.pool.For(m, func(i int) {
		row, k := square.Row(i), p.kuu.Row(i)
		if p.pull.Data != nil {
			pull, slope := pulls.Row(i), p.kuuSlope.Row(i)
			for j, w := range row {
				pull[j] = -w * slope[j]
			}
		}
		for j, w := range row {
			row[j] = -w * k[j]
		}
		p.vector[i] = linalg.Sum(row) + float64(row[i]*p.jitter)
	})
	dst.theta[len(dst.theta)-1] += linalg.Sum(p.vector)
	for i := range m {
		copy(p.zOnes.Row(i), p.z.Row(i))
		p.zOnes.Row(i)[d] = 1
	}
	gz := p.zPull // 2G(z, 1)
	p.pool.Gemm(false, false, 2, pulls, p.zOnes, 0, gz)
	for i := range m {
		sum := gz.Row(i)[d]
		for j, z := range p.z.Row(i) {
			inv2 := p.invScale[j] * p.invScale[j]
			pull := z*sum - gz.Row(i)[j] // Σ_i' 2G(z_i − z_i')
			dst.theta[p.of[j]] += z * pull * inv2
			dst.z.Row(i)[j] -= pull * inv2
		}
	}
}

// slopesOf returns memory for the slopes of a kernel block: the block itself if slopes are values.
func slopesOf(profile *linalg.Profile, block linalg.Mat) linalg.Mat {
	if profile.SlopeIsValue {
		return block
	}
	return linalg.NewMat(block.Rows, block.Cols)
}

// hyperGradient holds the derivatives of J_b by θ and Z at fixed whitened m and S. The KL is fixed then too:
//
//	dJ = b Σ dE + d ln 1/p_θ
//
// The sweep has collected the part of the kernel columns. K_ZZ enters through L: with X = m hᵀ + 2(S−I)H, all
// whitened and summed over rows, and Φ the lower triangle with half its diagonal,
//
//	dE/dL = −tril(L⁻ᵀX),  dE/dK_ZZ = −L⁻ᵀ Φ(X) L⁻¹
//
// the second by the reverse mode of Cholesky (Murray 2016, eq. 10), because Lᵀtril(L⁻ᵀX) differs from X in the
// upper part only. Only the symmetric part of dE/dK_ZZ counts, which is that of ½(Φ+Φᵀ): half of X's lower
// triangle and its mirror image.
type hyperGradient struct {
	theta []float64
	z     linalg.Mat // [M×d]
}
