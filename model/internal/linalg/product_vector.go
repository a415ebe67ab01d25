package linalg

import "math"

// transTimesVector computes c = alpha·aᵀ·x + c, or alpha·aᵀ·x if fresh is set, for one column c and one column
// or row x. It does not pack a, yet rounds as the packed product does: a chain of sums for each block of k.
func (p *Pool) transTimesVector(alpha float64, a, x Mat, fresh bool, c Mat) {
	step := x.Stride
	if x.Rows == 1 {
		step = 1
	}
	sums := p.pieces.get(a.Cols)
	defer p.pieces.put(sums)
	set := current.Load()
	for k0 := 0; k0 < a.Rows && a.Cols > 0; k0 += kBlock {
		clear(sums)
		for k := k0; k < min(k0+kBlock, a.Rows); k++ {
			set.axpy(x.Data[k*step], a.Row(k), sums)
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
