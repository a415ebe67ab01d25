package model

import (
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// sweepBlock is the number of rows that are computed together. Rows are gathered into such blocks, so that no
// result depends on the caller's chunks.
const sweepBlock = 1024

// A rowBlock gathers up to sweepBlock rows, B of them, which are then computed together.
type rowBlock struct {
	dim  int
	rows int
	x    linalg.Mat // [B×(d+1)]: features, and a last column of ones
	xd   linalg.Mat // [B×d]: features
	y    []float64
}

// collect copies rows into the block. It calls full, which must empty the block, whenever it is full. For a far
// row it calls far instead.
func (b *rowBlock) collect(x, y []float64, p *prior, far, full func()) {
	for i := range y {
		row := x[i*b.dim : (i+1)*b.dim]
		if isFar(row, p.origin, p.limit) || math.Abs(y[i]) > farTarget {
			far()
			continue
		}
		copy(b.xd.Row(b.rows), row)
		copy(b.x.Row(b.rows), row)
		b.x.Row(b.rows)[b.dim] = 1
		b.y[b.rows] = y[i]
		if b.rows++; b.rows == sweepBlock {
			full()
		}
	}
}

// kernel computes the kernel columns of the block into k, and their slopes unless slope is empty. It empties
// the block and returns the number of rows that it had.
func (b *rowBlock) kernel(p *prior, k, slope linalg.Mat) (n int) {
	n, b.rows = b.rows, 0
	if n == 0 {
		return 0
	}
	m := p.z.Rows
	if slope.Rows > 0 {
		slope = slope.Slice(0, n, 0, m)
	}
	p.pool.Kernel(p.profile, b.xd.Slice(0, n, 0, b.dim), p.z, p.origin, p.invScale, p.variance, k.Slice(0, n, 0, m), slope)
	return n
}
