package lake

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// A chunk is one column of one row group, as the footer describes it.
type chunk struct {
	start, end   int64 // where its pages are in the file
	rows         int64
	uncompressed int64 // bytes of all pages
	codec        format.CompressionCodec
	nulls        int64   // 0 also if unknown: the library's decoder does not tell
	lo, hi       float64 // of the converted values; NaN if unknown
}

// chunk describes column c of row group g, checked against the file.
func (f *footer) chunk(g int, c *column) (chunk, error) {
	group := &f.groups[g]
	cc := &group.Columns[c.leaf]
	m := &cc.MetaData
	fault := func(what string, args ...any) (chunk, error) {
		return chunk{}, fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), errMalformed)
	}
	if c.refused != "" {
		return chunk{}, errors.New(c.refused)
	}
	ch := chunk{
		start: m.DataPageOffset, rows: group.NumRows, uncompressed: m.TotalUncompressedSize,
		codec: m.Codec, nulls: m.Statistics.NullCount,
	}
	if d := m.DictionaryPageOffset; d > 0 && d < ch.start {
		ch.start = d
	}
	switch {
	case len(m.PathInSchema) != 1 || m.PathInSchema[0] != c.Name || m.Type != c.physical:
		return fault("the footer's chunk is of column %q, type %v", m.PathInSchema, m.Type)
	case m.NumValues != ch.rows:
		return fault("the footer claims %d values for %d rows", m.NumValues, ch.rows)
	case ch.start < int64(len(magic)) || m.TotalCompressedSize < 0 || ch.start > f.start || m.TotalCompressedSize > f.start-ch.start:
		return fault("the footer puts its %d bytes at %d, in a file whose data end at %d", m.TotalCompressedSize, ch.start, f.start)
	case ch.rows > maxRows(m.TotalCompressedSize):
		return fault("the footer claims %d rows in %d bytes", ch.rows, m.TotalCompressedSize)
	case ch.uncompressed < 0 || ch.nulls < 0 || ch.nulls > ch.rows || ch.nulls > 0 && !c.optional:
		return fault("the footer claims %d bytes and %d nulls", ch.uncompressed, ch.nulls)
	}
	ch.end = ch.start + m.TotalCompressedSize
	ch.lo, ch.hi = c.bounds(&m.Statistics)
	return ch, nil
}

// minPage is how many bytes the header of a data page has at least.
const minPage = 16

// maxRows is how many rows the pages of so many bytes can have: 2³¹−1 each, as in
// a column of one value, which takes no bytes at all.
func maxRows(bytes int64) int64 {
	pages := bytes / minPage
	if pages > math.MaxInt64/math.MaxInt32 {
		return math.MaxInt64
	}
	return pages * math.MaxInt32
}

// bounds returns the smallest and the largest value by the footer's statistics,
// NaN where they are unknown or in an order that is not the values' own: the
// deprecated fields compare as signed integers, and for INT96 and columns
// without a declared order the format leaves it open.
func (c *column) bounds(s *format.Statistics) (lo, hi float64) {
	if c.kind == kindInt96 {
		return math.NaN(), math.NaN()
	}
	low, high := s.MinValue, s.MaxValue
	if !c.ordered {
		low, high = nil, nil
	}
	signed := c.kind != kindUint32 && c.kind != kindUint64 && c.kind != kindDecimalBytes
	if low == nil && high == nil && signed {
		low, high = s.Min, s.Max
	}
	return c.statistic(low), c.statistic(high)
}

// statistic converts one bound; NaN if it is absent or is a fault itself.
func (c *column) statistic(b []byte) float64 {
	if c.kind == kindBoolean {
		if len(b) != 1 {
			return math.NaN()
		}
		return float64(b[0] & 1)
	}
	if len(b) != c.width {
		return math.NaN()
	}
	var v [1]float64
	c.plain(v[:], b)
	return v[0]
}
