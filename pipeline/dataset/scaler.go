package dataset

import "github.com/pacsgp/pacsgp/pipeline/job"

// A Scaler makes rows of scaled inputs from raw columns. A feature has one input, its scaled value, or those of its
// encoding.
type Scaler struct {
	columns   []int // of the features in the source, whose last column is the target
	features  []job.Affine
	encoded   []*job.Encoding // of each feature; nil for one without an encoding
	positions []int           // of each feature's first input in a row
	Inputs    int             // in a row
	mean      int             // column that is subtracted from the target instead of its centre, or -1
	target    job.Affine
}

// NewScaler returns the scaler of features, which are these columns of a source, and of a target. mean is the column
// that is subtracted from the target instead of its centre, or -1.
func NewScaler(columns []int, features []job.Affine, encode job.Encodings, mean int, target job.Affine) Scaler {
	s := Scaler{columns: columns, features: features, encoded: encode.By(NamesOf(features)), mean: mean, target: target}
	for _, e := range s.encoded {
		s.positions = append(s.positions, s.Inputs)
		s.Inputs += e.Width()
	}
	return s
}

// CentreOf returns what is subtracted from the target of row i of a block.
func (s Scaler) CentreOf(b Block, i int) float64 {
	if s.mean < 0 {
		return s.target.Centre
	}
	return b.Columns[s.mean][i]
}

// CentreOfRow is CentreOf for a raw row.
func (s Scaler) CentreOfRow(row []float64) float64 {
	if s.mean < 0 {
		return s.target.Centre
	}
	return row[s.mean]
}

// put writes the inputs of feature j to a row.
func (s Scaler) put(row []float64, j int, v float64) {
	if e := s.encoded[j]; e != nil {
		e.Put(row[s.positions[j]:], v, s.features[j])
	} else {
		row[s.positions[j]] = (v - s.features[j].Centre) / s.features[j].Scale
	}
}

// Scale writes the scaled rows [from, to) of a block: x row-major [(to−from)×Inputs], and y [to−from] unless it is
// nil. A value does not depend on the position of its row in the block.
func (s Scaler) Scale(b Block, from, to int, x, y []float64) {
	for j := range s.features {
		for i, v := range b.Columns[s.columns[j]][from:to] {
			s.put(x[i*s.Inputs:], j, v)
		}
	}
	if y == nil {
		return
	}
	for i := range y[:to-from] {
		y[i] = s.TargetOf(b, from+i)
	}
}

// TargetOf returns the scaled target of row i of a block.
func (s Scaler) TargetOf(b Block, i int) float64 {
	return (b.Columns[len(b.Columns)-1][i] - s.CentreOf(b, i)) / s.target.Scale
}

// Row writes the inputs of a raw row to x.
func (s Scaler) Row(x, row []float64) {
	for j, c := range s.columns {
		s.put(x, j, row[c])
	}
}

// ScaleRaw returns raw rows scaled: x row-major [n×Inputs], y [n].
func (s Scaler) ScaleRaw(r RawRows) (x, y []float64) {
	x, y = make([]float64, r.Len()*s.Inputs), make([]float64, r.Len())
	for i := range r.Len() {
		row := r.Row(i)
		s.Row(x[i*s.Inputs:], row)
		y[i] = (row[len(row)-1] - s.CentreOfRow(row)) / s.target.Scale
	}
	return x, y
}
