package pipeline

import "slices"

// A scaler turns blocks of raw columns into scaled rows.
type scaler struct {
	used     []int    // the source's columns: features, the column of the mean if there is one, the target, which is the source's last
	features []Affine // of used[:d]
	target   Affine
}

// past is the scaler of rows with a column between the features and what follows them.
func (s scaler) past() scaler {
	used := slices.Clone(s.used)
	for i := len(s.features); i < len(used); i++ {
		used[i]++
	}
	return scaler{used, s.features, s.target}
}

// byColumn reports whether a column is subtracted from the target, in place of its centre.
func (s scaler) byColumn() bool { return len(s.used) == len(s.features)+2 }

// centreOf is what is subtracted from the target of a raw row.
func (s scaler) centreOf(row []float64) float64 {
	if s.byColumn() {
		return row[s.used[len(s.features)]]
	}
	return s.target.Centre
}

func (s scaler) inputs() int { return len(s.features) }

// scale writes rows [from, to) of a block: x row-major [(to−from)×d], and y [to−from] unless it is
// nil. A value does not depend on its row's place.
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
	for i := range y[:to-from] {
		y[i] = s.targetOf(b, from+i)
	}
}

// targetOf is the scaled target of row i of a block.
func (s scaler) targetOf(b block, i int) float64 {
	centre := s.target.Centre
	if s.byColumn() {
		centre = b.columns[s.used[len(s.features)]][i]
	}
	return (b.columns[len(b.columns)-1][i] - centre) / s.target.Scale
}

// scaleRaw scales raw rows: x row-major [n×d], y [n].
func (s scaler) scaleRaw(r rawRows) (x, y []float64) {
	d := len(s.features)
	x, y = make([]float64, r.n*d), make([]float64, r.n)
	for i := range r.n {
		row := r.row(i)
		for j, a := range s.features {
			x[i*d+j] = (row[s.used[j]] - a.Centre) / a.Scale
		}
		y[i] = (row[len(row)-1] - s.centreOf(row)) / s.target.Scale
	}
	return x, y
}
