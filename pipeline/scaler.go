package pipeline

// A scaler turns blocks of raw columns into scaled rows.
type scaler struct {
	used     []int    // the source's columns: features, then the target
	features []Affine // of used[:d]
	target   Affine
}

func (s scaler) inputs() int { return len(s.features) }

// scale writes rows [from, to) of a block: x row-major [(to−from)×d], y if it is
// not nil. Each value is computed alone, so that it does not depend on where a
// row stands.
func (s scaler) scale(b block, from, to int, x, y []float64) {
	d := len(s.features)
	for j, a := range s.features {
		for i, v := range b.columns[s.used[j]][from:to] {
			x[i*d+j] = (v - a.Centre) / a.Scale
		}
	}
	if y == nil {
		return
	}
	for i, v := range b.columns[s.used[d]][from:to] {
		y[i] = (v - s.target.Centre) / s.target.Scale
	}
}

// scaleRaw scales rows that were kept raw.
func (s scaler) scaleRaw(r rawRows) (x, y []float64) {
	d := len(s.features)
	x, y = make([]float64, r.n*d), make([]float64, r.n)
	for i := range r.n {
		row := r.row(i)
		for j, a := range s.features {
			x[i*d+j] = (row[s.used[j]] - a.Centre) / a.Scale
		}
		y[i] = (row[s.used[d]] - s.target.Centre) / s.target.Scale
	}
	return x, y
}
