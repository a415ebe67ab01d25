package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// StartRows is how many rows, prior rows included, start values are sought
// on. Start values are part of Q, which may depend on every row, so that train
// rows may fill up what the prior rows leave.
const StartRows = 8000

// RawRows are rows of all columns of the source, row-major.
type RawRows struct {
	N, Columns int
	Values     []float64
	Encoded    []*job.Encoding // of the columns; nil: values are as they stand
}

// NewRawRows returns n rows of zeros.
func NewRawRows(n, columns int) RawRows {
	return RawRows{N: n, Columns: columns, Values: make([]float64, n*columns)}
}

// Row is row i. It shares its memory with the rows.
func (r RawRows) Row(i int) []float64 { return r.Values[i*r.Columns : (i+1)*r.Columns] }

// Column is a column of the rows, with what stands for missing values.
func (r RawRows) Column(c int) []float64 {
	out := make([]float64, r.N)
	for i := range out {
		out[i] = r.Values[i*r.Columns+c]
		if r.Encoded != nil {
			out[i] = r.Encoded[c].Value(out[i])
		}
	}
	return out
}

// Digest is the SHA-256 of some columns of the rows, in order, as they were read.
func (r RawRows) Digest(columns []int) string {
	sum := sha256.New()
	var cell [8]byte
	for i := range r.N {
		row := r.Row(i)
		for _, c := range columns {
			binary.LittleEndian.PutUint64(cell[:], math.Float64bits(row[c]))
			_, _ = sum.Write(cell[:])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Ranked are rows that have the ordinals in of, which ascend, in the order of their
// ranks.
func (r RawRows) Ranked(of []int64, ranks []Rank) RawRows {
	out := NewRawRows(len(ranks), r.Columns)
	for i, each := range ranks {
		at, _ := slices.BinarySearch(of, each.Ordinal)
		copy(out.Row(i), r.Row(at))
	}
	return out
}

// Standardise returns the mean and the population standard deviation of the usual
// values of x, by plain sums in order: docs/reference/formats.md, section "Scaling". A column of one
// value has scale 0 exactly.
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

// Centre is that of the target's scaling, from its values x with that mean: the value of more than
// half of them, if there is one. The process is then 0 where nothing happens, and small elsewhere.
func Centre(x []float64, mean float64) float64 {
	_, middle, _ := middleOf(x)
	others := slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return v == middle })
	if 2*len(others) >= len(x) {
		return mean
	}
	return middle + 0 // no −0
}

// usualWithin is how many times the spread of most values a usual one may lie away from the
// median, if the scaling comes from prior rows.
const usualWithin = 100

// usual drops outliers, by distance from the median in spreads of most values: a fill value such as
// −9999 would leave no difference between all others. Where most values are one, all are usual.
func usual(x []float64) []float64 {
	low, middle, high := middleOf(x)
	limit := usualWithin * (high - low)
	if !(limit > 0) {
		return x
	}
	kept := make([]float64, 0, len(x))
	for _, v := range x {
		if math.Abs(v-middle) <= limit {
			kept = append(kept, v)
		}
	}
	return kept
}

// middleOf is the median of x, and the ends of the middle four fifths.
func middleOf(x []float64) (low, middle, high float64) {
	sorted := slices.Sorted(slices.Values(x))
	last := len(sorted) - 1
	return sorted[last/10], sorted[last/2], sorted[last*9/10]
}
