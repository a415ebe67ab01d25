package linalg

import "math"

// lanes is the number of partial sums of Dot and Sum: element i goes to sum i mod lanes.
const lanes = 16

// choleskyBlock is the size up to which a matrix is factored without halving.
const choleskyBlock = 48

// portable is the set in plain Go. It gives the same bits as the assembly on every processor, because it calls math.FMA
// explicitly. (Every 64-bit processor of the last decade has the instruction; on others math.FMA is right but slow.)
var portable = kernelSet{
	name:       "portable",
	mr:         4,
	nr:         4,
	gemm:       gemmPortable,
	packTrans:  packTransPortable,
	packRows:   packRowsPortable,
	axpy:       axpyPortable,
	substitute: substitutePortable,
	dot:        dotPortable,
	sum:        sumPortable,
	exp:        each(exp),
	cdf:        each(cdf),
	cdfPDF:     cdfPDFPortable,
	kernelCols: 8,
}

func gemmPortable(k int, alpha float64, a, b, c []float64, ldc, rows, cols int, store bool, _ []float64) {
	var tile [4][4]float64
	gemmHalf(k, a, b, &tile[0], &tile[1])
	if rows > 2 {
		gemmHalf(k, a[2:], b, &tile[2], &tile[3])
	}
	for i := range rows {
		row := c[i*ldc : i*ldc+cols]
		for j := range row {
			old := row[j]
			if store {
				old = 0
			}
			row[j] = math.FMA(alpha, tile[i][j], old)
		}
	}
}

// gemmHalf forms two rows of the tile: as many sums as fit into registers.
func gemmHalf(k int, a, b []float64, r0, r1 *[4]float64) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float64
	b = b[:4*k]
	a = a[:4*k-2]
	for len(b) >= 4 && len(a) >= 2 {
		x, y := a[0], a[1]
		s00 = math.FMA(x, b[0], s00)
		s01 = math.FMA(x, b[1], s01)
		s02 = math.FMA(x, b[2], s02)
		s03 = math.FMA(x, b[3], s03)
		s10 = math.FMA(y, b[0], s10)
		s11 = math.FMA(y, b[1], s11)
		s12 = math.FMA(y, b[2], s12)
		s13 = math.FMA(y, b[3], s13)
		b = b[4:]
		a = a[min(4, len(a)):]
	}
	*r0 = [4]float64{s00, s01, s02, s03}
	*r1 = [4]float64{s10, s11, s12, s13}
}

func packTransPortable(k int, src []float64, ld int, dst []float64, stride int) {
	r0, r1, r2, r3 := src[:k], src[ld:ld+k], src[2*ld:2*ld+k], src[3*ld:3*ld+k]
	for i := range k {
		d := dst[i*stride : i*stride+4]
		d[0], d[1], d[2], d[3] = r0[i], r1[i], r2[i], r3[i]
	}
}

func packRowsPortable(k int, src []float64, ld int, dst []float64, width int, w []float64) {
	for i := range k {
		row := dst[i*width : (i+1)*width]
		copy(row, src[i*ld:i*ld+width])
		if w != nil {
			for j := range row {
				row[j] *= w[i]
			}
		}
	}
}

func substitutePortable(n, count, panel int, coef, x []float64, backwards bool) {
	const mr = 4
	for p := range count {
		from, c := x[p*panel:], coef
		column := func(step int) []float64 {
			if backwards {
				step = n - 1 - step
			}
			return from[step*mr : (step+1)*mr]
		}
		for s := range n {
			col := column(s)
			for k := range s {
				axpyPortable(-c[k], column(k), col)
			}
			for i := range col {
				col[i] *= c[s]
			}
			c = c[s+1:]
		}
	}
}

func axpyPortable(alpha float64, x, y []float64) {
	for i, v := range x {
		y[i] = math.FMA(alpha, v, y[i])
	}
}

func dotPortable(x, y []float64) float64 {
	var s [lanes]float64
	for ; len(x) >= lanes && len(y) >= lanes; x, y = x[lanes:], y[lanes:] {
		for l := range lanes {
			s[l] = math.FMA(x[l], y[l], s[l])
		}
	}
	return addLanes(&s)
}

func sumPortable(x []float64) float64 {
	var s [lanes]float64
	for ; len(x) >= lanes; x = x[lanes:] {
		for l := range lanes {
			s[l] += x[l]
		}
	}
	return addLanes(&s)
}

// addLanes adds the partial sums in the order of the assembly.
func addLanes(s *[lanes]float64) float64 {
	var four [4]float64
	for l := range four {
		four[l] = (s[l] + s[l+4]) + (s[l+8] + s[l+12])
	}
	return (four[0] + four[2]) + (four[1] + four[3])
}
