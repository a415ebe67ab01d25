package model

import (
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// A fill value such as 10⁹ lies so far from all true values that sums of squares lose all other digits. Training may
// choose its rows: it leaves such a row out and counts its loss as 1. The certificate counts it like every other row.
const (
	// farFactor is the distance from the median beyond which a feature is far, in spreads of most rows. A
	// spread below 1, the standard deviation of the rows that the scaling comes from, counts as 1.
	farFactor = 1e4
	farTarget = 1e6 // the size of a target, in scaled units, beyond which it is far
)

// quantile returns, for each column of z, the element at position share·(rows−1), rounded down, of the sorted column.
func quantile(z linalg.Mat, share float64) []float64 {
	c, column := make([]float64, z.Cols), make([]float64, z.Rows)
	for k := range c {
		for i := range column {
			column[i] = z.Row(i)[k]
		}
		slices.Sort(column)
		c[k] = column[int(share*float64(z.Rows-1))]
	}
	return c
}

// medians returns the lower median of each column: a few far rows do not move it.
func medians(z linalg.Mat) []float64 { return quantile(z, 0.5) }

// limits returns, for each feature, the distance from the median beyond which it is far.
func limits(z linalg.Mat) []float64 {
	limit, low := quantile(z, 0.9), quantile(z, 0.1)
	for k := range limit {
		limit[k] = farFactor * max(1, limit[k]-low[k])
	}
	return limit
}

func isFar(row, middle, limit []float64) bool {
	for k, v := range row {
		if math.Abs(v-middle[k]) > limit[k] {
			return true
		}
	}
	return false
}

// usualRows returns the rows without a far feature or target, or all rows if there are none.
func usualRows(rows Rows) Rows {
	x := view(rows.X, rows.Dim)
	middle, limit := medians(x), limits(x)
	usual := Rows{Dim: rows.Dim}
	for i, y := range rows.Y {
		if !isFar(rows.Row(i), middle, limit) && !(math.Abs(y) > farTarget) {
			usual.X = append(usual.X, rows.Row(i)...)
			usual.Y = append(usual.Y, y)
		}
	}
	if usual.Len() == 0 || usual.Len() == rows.Len() {
		return rows
	}
	return usual
}
