package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// StartRows is the number of rows on which start values are searched: the prior rows, and training rows up to this
// number. Training rows may be used because start values are part of Q, which may depend on every row.
const StartRows = 8000

// RawRows are rows of all columns of the source, row-major.
type RawRows struct {
	columns int
	values  []float64
	encoded []*job.Encoding // of each column; if nil, no column is encoded
}

// NewRawRows returns rows with these values, which it does not copy.
func NewRawRows(columns int, values []float64) RawRows { return RawRows{columns, values, nil} }

// Filled returns the same rows, in whose columns missing values are replaced as the encoding of each column says. If
// encoded is nil, none are replaced.
func (r RawRows) Filled(encoded []*job.Encoding) RawRows {
	return RawRows{r.columns, r.values, encoded}
}

// Len returns the number of rows.
func (r RawRows) Len() int { return len(r.values) / max(r.columns, 1) }

// Row returns row i. It shares memory with the rows.
func (r RawRows) Row(i int) []float64 { return r.values[i*r.columns : (i+1)*r.columns] }

// Column returns a copy of column c, with missing values replaced ([RawRows.Filled]).
func (r RawRows) Column(c int) []float64 {
	out := make([]float64, r.Len())
	for i := range out {
		out[i] = r.values[i*r.columns+c]
		if r.encoded != nil {
			out[i] = r.encoded[c].Value(out[i])
		}
	}
	return out
}

// Digest returns the SHA-256 of some columns of the rows, row by row, in hexadecimal. Values are not replaced.
func (r RawRows) Digest(columns []int) string {
	sum := sha256.New()
	var cell [8]byte
	for i := range r.Len() {
		row := r.Row(i)
		for _, c := range columns {
			binary.LittleEndian.PutUint64(cell[:], math.Float64bits(row[c]))
			_, _ = sum.Write(cell[:])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Ranked returns new rows: those with these ranks, in their order. ordinals are those of the rows r, ascending.
func (r RawRows) Ranked(ordinals []int64, ranks []Rank) RawRows {
	out := NewRawRows(r.columns, make([]float64, len(ranks)*r.columns))
	for i, each := range ranks {
		at, _ := slices.BinarySearch(ordinals, each.Ordinal)
		copy(out.Row(i), r.Row(at))
	}
	return out
}

// Standardise returns the mean and the population standard deviation of x without its outliers, by plain sums in
// order (docs/reference/formats.md, section "Scaling"). If all values are equal, the scale is exactly 0.
func Standardise(x []float64) job.Affine {
	if slices.Min(x) == slices.Max(x) {
		return job.Affine{Centre: x[0]}
	}
	x = usual(x)
	n := float64(len(x))
	var sum float64
	for _, v := range x {
		sum += v
	}
	mean := sum / n
	var squares float64
	for _, v := range x {
		d := v - mean
		squares += float64(d * d)
	}
	return job.Affine{Centre: mean, Scale: math.Sqrt(squares / n)}
}

// Centre returns the centre of the target's scaling: the value that more than half of x have, if there is one, or
// the mean. With the former, the scaled target is exactly 0 in most rows.
func Centre(x []float64, mean float64) float64 {
	_, middle, _ := middleOf(x)
	others := slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return v == middle })
	if 2*len(others) >= len(x) {
		return mean
	}
	return middle + 0 // no −0
}

// usualWithin is the largest distance of a value from the median that is no outlier, in spreads: distances between
// the 10 % and the 90 % quantile.
const usualWithin = 100

// usual returns x without outliers. A placeholder such as −9999 would otherwise scale all differences between other
// values to about 0. If the spread is 0, there are no outliers.
func usual(x []float64) []float64 {
	low, middle, high := middleOf(x)
	limit := usualWithin * (high - low)
	if !(limit > 0) {
		return x
	}
	return slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return !(math.Abs(v-middle) <= limit) })
}

// middleOf returns the 10 % quantile, the median and the 90 % quantile of x.
func middleOf(x []float64) (low, middle, high float64) {
	sorted := slices.Sorted(slices.Values(x))
	last := len(sorted) - 1
	return sorted[last/10], sorted[last/2], sorted[last*9/10]
}
