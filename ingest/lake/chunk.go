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
	counted      bool // nulls is known
	nulls        int64
	lo, hi       bound // of the converted values
}

// A bound is the smallest or the largest value by the footer; NaN if it is unknown.
type bound struct {
	value   float64
	inexact bool // there need be no such value: what there is lies within
}

var unknownBound = bound{value: math.NaN()}

// chunk describes column c of row group g, checked against the file.
func (f *footer) chunk(g int, c *column) (chunk, error) {
	group := &f.groups[g]
	m := &group.chunks[c.leaf]
	fault := func(what string, args ...any) (chunk, error) {
		return chunk{}, fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), errMalformed)
	}
	if c.refused != "" {
		return chunk{}, errors.New(c.refused)
	}
	ch := chunk{
		start: m.data, rows: group.rows, uncompressed: m.uncompressed,
		codec: m.codec, counted: m.stats.counted, nulls: m.stats.nulls,
	}
	if d := m.dictionary; d > 0 && d < ch.start {
		ch.start = d
	}
	switch {
	case m.depth != 1 || string(m.path) != c.Name || m.physical != c.physical:
		return fault("the footer's chunk is of column %.200q, type %v", m.path, m.physical)
	case m.values != ch.rows:
		return fault("the footer claims %d values for %d rows", m.values, ch.rows)
	case ch.start < int64(len(magic)) || m.compressed < 0 || ch.start > f.start || m.compressed > f.start-ch.start:
		return fault("the footer puts its %d bytes at %d, in a file whose data end at %d", m.compressed, ch.start, f.start)
	case ch.rows > maxRows(m.compressed):
		return fault("the footer claims %d rows in %d bytes", ch.rows, m.compressed)
	case ch.uncompressed < 0 || ch.nulls < 0 || ch.nulls > ch.rows || ch.nulls > 0 && !c.optional:
		return fault("the footer claims %d bytes and %d nulls", ch.uncompressed, ch.nulls)
	}
	ch.end = ch.start + m.compressed
	var err error
	ch.lo, ch.hi, err = c.bounds(&m.stats)
	return ch, err
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
// unknown where they are absent or in an order that is not the values' own: the
// deprecated fields compare as signed integers, and for INT96 and columns
// without a declared order the format leaves it open.
func (c *column) bounds(s *chunkStats) (lo, hi bound, err error) {
	if c.kind == kindInt96 {
		return unknownBound, unknownBound, nil
	}
	for _, b := range [][]byte{s.min, s.max, s.minValue, s.maxValue} {
		if b != nil && len(b) != max(c.width, 1) {
			return lo, hi, fmt.Errorf("the footer's statistics have a bound of %d bytes for values of %d: %w", len(b), max(c.width, 1), errMalformed)
		}
	}
	low, high := s.minValue, s.maxValue
	if !c.ordered {
		low, high = nil, nil
	}
	signed := c.kind != kindUint32 && c.kind != kindUint64 && c.kind != kindDecimalBytes
	if low == nil && high == nil && signed {
		return bound{c.statistic(s.min), false}, bound{c.statistic(s.max), false}, nil
	}
	return bound{c.statistic(low), s.inexactMin}, bound{c.statistic(high), s.inexactMax}, nil
}

// statistic converts one bound; NaN if it is absent or is a fault itself.
func (c *column) statistic(b []byte) float64 {
	if b == nil {
		return math.NaN()
	}
	if c.kind == kindBoolean {
		return float64(b[0] & 1)
	}
	var v [1]float64
	c.plain(v[:], b)
	return v[0]
}
