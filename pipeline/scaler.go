package pipeline

import "slices"

// A scaler turns blocks of raw columns into scaled rows: an input is a scaled feature, or one of an
// encoded feature.
type scaler struct {
	used     []int       // the source's columns: features, the column of the mean if there is one, the target, which is the source's last
	features []Affine    // of used[:len(features)]
	encoded  []*Encoding // of the features; nil: none
	places   []int       // of the features' first inputs in a row
	inputs   int
	target   Affine
}

func newScaler(used []int, features []Affine, encode Encodings, target Affine) scaler {
	s := scaler{used: used, features: features, encoded: encode.by(namesOf(features)), target: target}
	for _, e := range s.encoded {
		s.places = append(s.places, s.inputs)
		s.inputs += e.width()
	}
	return s
}

// past is the scaler of rows with a column between the features and what follows them.
func (s scaler) past() scaler {
	s.used = slices.Clone(s.used)
	for i := len(s.features); i < len(s.used); i++ {
		s.used[i]++
	}
	return s
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

// put writes the inputs of feature j to a row.
func (s scaler) put(row []float64, j int, v float64) {
	if e := s.encoded[j]; e != nil {
		e.put(row[s.places[j]:], v, s.features[j])
	} else {
		row[s.places[j]] = (v - s.features[j].Centre) / s.features[j].Scale
	}
}

// scale writes rows [from, to) of a block: x row-major [(to−from)×d], and y [to−from] unless it is
// nil. A value does not depend on its row's place.
func (s scaler) scale(b block, from, to int, x, y []float64) {
	for j, a := range s.features {
		column, at := b.columns[s.used[j]][from:to], s.places[j]
		for i, v := range column {
			if e := s.encoded[j]; e != nil {
				e.put(x[i*s.inputs+at:], v, a)
			} else {
				x[i*s.inputs+at] = (v - a.Centre) / a.Scale
			}
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
	x, y = make([]float64, r.n*s.inputs), make([]float64, r.n)
	for i := range r.n {
		row := r.row(i)
		for j := range s.features {
			s.put(x[i*s.inputs:], j, row[s.used[j]])
		}
		y[i] = (row[len(row)-1] - s.centreOf(row)) / s.target.Scale
	}
	return x, y
}
