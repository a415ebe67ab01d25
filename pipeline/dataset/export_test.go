package dataset

// testSecret is fixed: with about one of a thousand, parts of some marks meet more often.
var testSecret = Secret{0x6b, 0x3d, 0xd1, 0x9e, 0x42, 0x8f, 0xc5, 0x07, 0xe3, 0x91, 0x5a, 0x2c, 0xb8, 0x74, 0xaf, 0x63}

// Marks are the marks of rows, by one secret for the whole test.
func Marks(columns [][]float64) []uint64 {
	marks := make([]uint64, len(columns[0]))
	testSecret.mark(marks, columns, Indices(len(columns)))
	return marks
}
