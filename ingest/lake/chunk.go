package lake

import (
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// A chunk is one column of one row group, as the footer describes it.
type chunk struct {
	group        int
	start, end   int64 // the offsets of its pages in the file
	rows         int64
	uncompressed int64 // bytes of all pages
	codec        format.CompressionCodec
	counted      bool // nulls is known
	nulls        int64
	lo, hi       bound // of the converted values
}

// A bound is the smallest or the largest value by the footer; NaN if it is unknown.
type bound struct {
	value   float64
	inexact bool // a bound that no value need attain
}

var unknownBound = bound{value: math.NaN()}

// minPage is the least number of bytes of the header of a data page. A page has at most 2³¹−1 rows, as in
// a column of one value.
const minPage = 16

// bounds returns the least and the largest value by the footer's statistics. They are unknown if
// they are absent, or if their order is not that of the values: the deprecated fields compare as
// signed integers, and INT96 and columns without a declared order have no defined order.
func (c *column) bounds(s *parquetmeta.Statistics) (lo, hi bound, err error) {
	if c.kind == kindInt96 || c.Text {
		return unknownBound, unknownBound, nil
	}
	for _, b := range [][]byte{s.Min, s.Max, s.MinValue, s.MaxValue} {
		if b != nil && len(b) != max(c.width, 1) {
			return lo, hi, fmt.Errorf("the footer's statistics have a bound of %d bytes for values of %d: %w", len(b), max(c.width, 1), errMalformed)
		}
	}
	low, high := s.MinValue, s.MaxValue
	if !c.ordered {
		low, high = nil, nil
	}
	signed := c.kind != kindUint32 && c.kind != kindUint64 && c.kind != kindDecimalBytes && c.kind != kindFloat16
	if low == nil && high == nil && signed {
		return bound{c.statistic(s.Min), false}, bound{c.statistic(s.Max), false}, nil
	}
	return bound{c.statistic(low), !s.ExactMin}, bound{c.statistic(high), !s.ExactMax}, nil
}

// statistic converts one bound; it is NaN if the bound is absent or a fault.
func (c *column) statistic(b []byte) float64 {
	if b == nil {
		return math.NaN()
	}
	if c.kind == kindBoolean {
		b = []byte{b[0] & 1}
	}
	var v [1]float64
	c.plain(v[:], b)
	return v[0]
}
