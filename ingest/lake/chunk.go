package lake

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
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

// chunk describes column c of row group g, checked against the file.
func (f *footer) chunk(g int, c *column) (chunk, error) {
	ch, err := f.storedChunk(g, c)
	if err != nil {
		return chunk{}, err
	}
	ch.lo, ch.hi, err = c.bounds(&f.groups[g].Chunks[c.leaf].Stats)
	return ch, err
}

// chunks yields the chunks with rows of the readable columns, text among them.
func (f *footer) chunks() iter.Seq2[*column, chunk] {
	return func(yield func(*column, chunk) bool) {
		for i := range f.columns {
			c := &f.columns[i]
			for g := range f.groups {
				if c.Use == ingest.Unusable && !c.Text || c.refused != "" || f.groups[g].Rows == 0 {
					continue
				}
				if ch, err := f.chunk(g, c); err == nil && !yield(c, ch) {
					return
				}
			}
		}
	}
}

// storedChunk is chunk without the bounds of the values.
func (f *footer) storedChunk(g int, c *column) (chunk, error) {
	group := &f.groups[g]
	m := &group.Chunks[c.leaf]
	fault := func(what string, args ...any) (chunk, error) {
		return chunk{}, fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), errMalformed)
	}
	if c.refused != "" {
		return chunk{}, errors.New(c.refused)
	}
	ch := chunk{
		group: g, start: m.Data, rows: group.Rows, uncompressed: m.Uncompressed,
		codec: m.Codec, counted: m.Stats.Counted, nulls: m.Stats.Nulls,
	}
	if d := m.Dictionary; d > 0 && d < ch.start {
		ch.start = d
	}
	switch {
	case m.Depth != c.depth || string(m.Path) != c.Name || m.Physical != c.physical:
		return fault("the footer's chunk is of column %.200q, type %v", m.Path, m.Physical)
	case m.Values != ch.rows:
		return fault("the footer claims %d values for %d rows", m.Values, ch.rows)
	case ch.start < int64(len(magic)) || m.Compressed < 0 || ch.start > f.start || m.Compressed > f.start-ch.start:
		return fault("the footer puts its %d bytes at %d, in a file whose data end at %d", m.Compressed, ch.start, f.start)
	case ch.rows > maxRows(m.Compressed):
		return fault("the footer claims %d rows in %d bytes", ch.rows, m.Compressed)
	case ch.uncompressed < 0 || ch.nulls < 0 || ch.nulls > ch.rows || ch.nulls > 0 && c.deep == 0:
		return fault("the footer claims %d bytes and %d nulls", ch.uncompressed, ch.nulls)
	}
	ch.end = ch.start + m.Compressed
	return ch, nil
}

// minPage is the least number of bytes of the header of a data page.
const minPage = 16

// maxRows returns the largest number of rows of pages with so many bytes: 2³¹−1 a page, as in a
// column of one value.
func maxRows(bytes int64) int64 {
	pages := bytes / minPage
	if pages > math.MaxInt64/math.MaxInt32 {
		return math.MaxInt64
	}
	return pages * math.MaxInt32
}

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
	return bound{c.statistic(low), s.InexactMin}, bound{c.statistic(high), s.InexactMax}, nil
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
