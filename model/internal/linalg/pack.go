package linalg

// kBlock is the number of steps along k, the inner dimension of a product, in one sum of a micro-kernel. Blocks
// start at 0. It is part of the definition of every result, the same for all sets.
const kBlock = 384

// A source is an operand to be packed into panels. A panel is a band of a few neighbouring members, each of
// which is one row (or column) of the matrix, with one element for each step along k.
type source struct {
	m     Mat
	byRow bool      // members are rows of m, and steps are columns; false: the reverse
	w     []float64 // nil, or one factor for each step; only if byRow is false
}

// pack puts members [i0, i1), at most width, and steps [k0, k1) into dst: width elements for each step, with
// zeros for missing members.
func (s *kernelSet) pack(dst []float64, width int, src source, i0, i1, k0, k1 int) {
	if k0 >= k1 {
		return
	}
	if i1-i0 < width {
		clear(dst[:width*(k1-k0)])
	}
	if src.byRow {
		s.packMembers(dst, width, src.m, i0, i1, k0, k1)
		return
	}
	from := src.m.Data[k0*src.m.Stride+i0:]
	var w []float64
	if src.w != nil {
		w = src.w[k0:k1]
	}
	if i1-i0 == width {
		s.packRows(k1-k0, from, src.m.Stride, dst, width, w)
		return
	}
	for k := range k1 - k0 {
		row := dst[k*width : k*width+i1-i0]
		copy(row, from[k*src.m.Stride:])
		if w != nil {
			for j := range row {
				row[j] *= w[k]
			}
		}
	}
}

// packMembers packs rows [i0, i1) and columns [k0, k1) of m: width elements of dst for each column.
func (s *kernelSet) packMembers(dst []float64, width int, m Mat, i0, i1, k0, k1 int) {
	fours := (k1 - k0) &^ 3
	i := i0
	for ; i+4 <= i1; i += 4 {
		from, to := m.Data[i*m.Stride+k0:], dst[i-i0:]
		if fours > 0 {
			s.packTrans(fours, from, m.Stride, to, width)
		}
		for k := fours; k < k1-k0; k++ {
			for r := range 4 {
				to[k*width+r] = from[r*m.Stride+k]
			}
		}
	}
	for ; i < i1; i++ {
		for k, v := range m.Data[i*m.Stride+k0 : i*m.Stride+k1] {
			dst[k*width+i-i0] = v
		}
	}
}

// packSteps is the number of steps along k that are packed for all panels at a time, if members are columns. So
// few rows of the matrix stay in the caches.
const packSteps = 16

// stride returns the number of steps to pack for all panels at a time.
func (src source) stride(steps int) int {
	if src.byRow {
		return max(steps, 1)
	}
	return packSteps
}

// packAll packs members [i0, i1) as panels of the given width, one after the other.
func (s *kernelSet) packAll(dst []float64, width int, src source, i0, i1, k0, k1 int) {
	stride := src.stride(k1 - k0)
	for k := k0; k < k1; k += stride {
		for i := i0; i < i1; i += width {
			s.pack(dst[(i-i0)*(k1-k0)+(k-k0)*width:], width, src, i, min(i+width, i1), k, min(k+stride, k1))
		}
	}
}

// roundUp returns the least multiple of unit that is at least n.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
