package linalg

// transposeBlock is the number of rows and columns that are transposed at a time, to stay in cache.
const transposeBlock = 64

// Transpose sets dst to aᵀ. The two must not overlap.
func (p *Pool) Transpose(a, dst Mat) {
	a.check("a", a.Rows, a.Cols)
	dst.check("dst", a.Cols, a.Rows)
	set := current.Load()
	p.For((a.Cols+transposeBlock-1)/transposeBlock, func(b int) {
		k0 := b * transposeBlock
		k1 := min(a.Cols, k0+transposeBlock)
		for i0 := 0; i0 < a.Rows; i0 += transposeBlock {
			i1 := min(a.Rows, i0+transposeBlock)
			set.packMembers(dst.Data[k0*dst.Stride+i0:], dst.Stride, a, i0, i1, k0, k1)
		}
	})
}

// Mirror copies the strictly lower triangle of the square a to the upper one.
func (p *Pool) Mirror(a Mat) {
	a.check("a", a.Rows, a.Rows)
	set := current.Load()
	p.For((a.Rows+transposeBlock-1)/transposeBlock, func(b int) {
		i0 := b * transposeBlock
		i1 := min(a.Rows, i0+transposeBlock)
		for k0 := 0; k0 < i0; k0 += transposeBlock {
			set.packMembers(a.Data[k0*a.Stride+i0:], a.Stride, a, i0, i1, k0, k0+transposeBlock)
		}
		for i := i0; i < i1; i++ {
			for j := i0; j < i; j++ {
				a.Data[j*a.Stride+i] = a.Data[i*a.Stride+j]
			}
		}
	})
}
