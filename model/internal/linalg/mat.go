package linalg

import "fmt"

// A Mat is a row-major matrix, or a rectangle inside a larger one: element (i, j) is
// Data[i*Stride+j]. It is a view; copying it does not copy the elements.
type Mat struct {
	Rows, Cols, Stride int
	Data               []float64
}

// NewMat returns a new zero matrix.
func NewMat(rows, cols int) Mat {
	return Mat{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// Row returns row i, sharing the elements.
func (m Mat) Row(i int) []float64 {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols : i*m.Stride+m.Cols]
}

// Slice returns rows [r0, r1) and columns [c0, c1), sharing the elements.
func (m Mat) Slice(r0, r1, c0, c1 int) Mat {
	if r0 < 0 || r1 < r0 || r1 > m.Rows || c0 < 0 || c1 < c0 || c1 > m.Cols {
		panic(fmt.Sprintf("linalg: slice [%d:%d, %d:%d] of a %d×%d matrix", r0, r1, c0, c1, m.Rows, m.Cols))
	}
	s := Mat{Rows: r1 - r0, Cols: c1 - c0, Stride: m.Stride}
	if s.Rows > 0 && s.Cols > 0 {
		s.Data = m.Data[r0*m.Stride+c0 : (r1-1)*m.Stride+c1]
	}
	return s
}

// check panics unless m is a well-formed rows×cols matrix.
func (m Mat) check(name string, rows, cols int) {
	if m.Rows != rows || m.Cols != cols {
		panic(fmt.Sprintf("linalg: %s is %d×%d, want %d×%d", name, m.Rows, m.Cols, rows, cols))
	}
	if m.Stride < m.Cols || (rows > 0 && cols > 0 && len(m.Data) < (rows-1)*m.Stride+cols) {
		panic(fmt.Sprintf("linalg: %s (%d×%d) has stride %d and %d elements", name, rows, cols, m.Stride, len(m.Data)))
	}
}

// dims returns the shape of m, or of its transpose.
func (m Mat) dims(transposed bool) (rows, cols int) {
	if transposed {
		return m.Cols, m.Rows
	}
	return m.Rows, m.Cols
}
