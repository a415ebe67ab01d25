package dataset

var testMarker = NewMarker(NewSecret())

// Marks are the marks of rows, by one marker for the whole test.
func Marks(columns [][]float64) []uint64 {
	marks := make([]Mark, len(columns[0]))
	testMarker.rows(marks, columns, Indices(len(columns)))
	out := make([]uint64, len(marks))
	for i, m := range marks {
		out[i] = uint64(m)
	}
	return out
}
