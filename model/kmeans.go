package model

import (
	"encoding/binary"
	"math"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

const kmeansRounds = 8

// kmeans returns m centres of the rows, in the metric of invScale, after a few rounds of Lloyd's algorithm. It
// starts from the first different rows in the order that order(n) gives, a permutation of n numbers. It returns
// fewer centres if there are fewer different rows.
func kmeans(pool *linalg.Pool, rows Rows, invScale []float64, m int, order func(n int) []int) linalg.Mat {
	centres := distinctRows(rows, m, order)
	m = centres.Rows
	if m == rows.Len() {
		return centres
	}
	nearest := make([]int, rows.Len())
	for range kmeansRounds {
		assign(pool, rows, centres, invScale, nearest)
		recentre(rows, nearest, centres)
	}
	// Centres that coincide would make K_ZZ singular but for its jitter.
	return distinctRows(Rows{X: centres.Data, Y: make([]float64, m), Dim: rows.Dim}, m, order)
}

// distinctRows returns the first m different rows in the given order, or all different ones if there are fewer.
func distinctRows(rows Rows, m int, order func(n int) []int) linalg.Mat {
	centres, picked := linalg.Mat{Cols: rows.Dim, Stride: rows.Dim}, map[string]bool{}
	var key []byte
	for _, i := range order(rows.Len()) {
		if centres.Rows == m {
			break
		}
		key = key[:0]
		for _, v := range rows.Row(i) {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v+0)) // −0 is 0
		}
		if !picked[string(key)] {
			picked[string(key)] = true
			centres.Data = append(centres.Data, rows.Row(i)...)
			centres.Rows++
		}
	}
	return centres
}

// assign sets nearest to the nearest centre of each row: that of the least |z|² − 2xᵀz in scaled units, and the
// first of equals.
func assign(pool *linalg.Pool, rows Rows, centres linalg.Mat, invScale []float64, nearest []int) {
	const block = 1024
	d := rows.Dim
	z := linalg.NewMat(centres.Rows, d)
	half := make([]float64, centres.Rows)
	for j := range z.Rows {
		for k, v := range centres.Row(j) {
			z.Row(j)[k] = v * invScale[k]
		}
		half[j] = 0.5 * linalg.Dot(z.Row(j), z.Row(j))
	}
	x := linalg.NewMat(block, d)
	dots := linalg.NewMat(block, z.Rows)
	for from := 0; from < rows.Len(); from += block {
		n := min(block, rows.Len()-from)
		for i := range n {
			for k, v := range rows.Row(from + i) {
				x.Row(i)[k] = v * invScale[k]
			}
		}
		pool.Gemm(false, true, 1, x.Slice(0, n, 0, d), z, 0, dots.Slice(0, n, 0, z.Rows))
		pool.For(n, func(i int) {
			least, at := math.Inf(1), 0
			for j, dot := range dots.Row(i) {
				if q := half[j] - dot; q < least {
					least, at = q, j
				}
			}
			nearest[from+i] = at
		})
	}
}

// recentre moves each centre to the mean of its rows. A centre without rows stays.
func recentre(rows Rows, nearest []int, centres linalg.Mat) {
	sum := linalg.NewMat(centres.Rows, rows.Dim)
	count := make([]float64, centres.Rows)
	for i, at := range nearest {
		linalg.Axpy(1, rows.Row(i), sum.Row(at))
		count[at]++
	}
	for j := range centres.Rows {
		if count[j] == 0 {
			continue
		}
		for k := range rows.Dim {
			centres.Row(j)[k] = sum.Row(j)[k] / count[j]
		}
	}
}
