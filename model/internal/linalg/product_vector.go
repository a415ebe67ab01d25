package linalg

import "math"

// A column is a vector as the only column, or row, of a matrix.
type column struct {
	m     Mat
	isRow bool
}

func (c column) at(i int) float64 {
	if c.isRow {
		return c.m.Data[i]
	}
	return c.m.Data[i*c.m.Stride]
}

// transTimesVector computes c = alpha·aᵀ·x + c for one column c, without packing a, yet
// with the roundings of the packed product: a chain of sums for each block of k.
func (p *Pool) transTimesVector(alpha float64, a Mat, x column, fresh bool, c Mat) {
	sums := p.pieces.get(a.Cols)
	defer p.pieces.put(sums)
	set := current.Load()
	for k0 := 0; k0 < a.Rows && a.Cols > 0; k0 += kBlock {
		clear(sums)
		for k := k0; k < min(k0+kBlock, a.Rows); k++ {
			set.axpy(x.at(k), a.Row(k), sums)
		}
		for i, s := range sums {
			old := 0.0
			if !fresh || k0 > 0 {
				old = c.Data[i*c.Stride]
			}
			c.Data[i*c.Stride] = math.FMA(alpha, s, old)
		}
	}
}
