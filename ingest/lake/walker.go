package lake

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// nextPage makes the next data page the current one. It passes over index pages
// and reads dictionary pages on the way.
func (c *cursor) nextPage() error {
	for {
		if err := c.pages.next(); err != nil {
			return err
		}
		if err := c.takePage(); err != nil {
			return err
		}
		switch h := &c.pages.header; {
		case h.Kind == format.DictionaryPage && h.Described:
			if err := c.dictionary(h); err != nil {
				return fmt.Errorf("dictionary: %w", err)
			}
		case h.Kind == format.DataPage && h.Described:
			return c.dataPage(h)
		case h.Kind == format.DataPageV2 && h.Described:
			return c.dataPage2(h)
		case h.Kind == format.IndexPage:
			if _, err := c.pages.body(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("page of type %d: %w", h.Kind, errMalformed)
		}
	}
}

// wayOf is how the current page is read.
func (c *cursor) wayOf(h *parquetmeta.PageHeader) way {
	w := c.chunk.wayOf(c.col, h, c.pages.firstBytes(), c.whole)
	c.streams = w == inPieces
	return w
}

// endPage holds the page, whose last value was read, against its header.
func (c *cursor) endPage() error {
	if c.leveled {
		if err := c.levels.finished(); err != nil {
			return err
		}
	}
	if h := &c.pages.header; h.Kind == format.DataPageV2 && c.nulls != int64(h.Nulls) {
		return fmt.Errorf("the page has %d nulls, its header says %d: %w", c.nulls, h.Nulls, errMalformed)
	}
	return c.values.finished()
}

// readNullable decodes values of the current page, some of which may be null.
func (c *cursor) readNullable(dst []float64) error {
	if cap(c.level) < len(dst) {
		c.level = make([]int32, len(dst))
	}
	level := c.level[:len(dst)]
	if err := c.levels.read(level); err != nil {
		return err
	}
	present := 0
	for _, l := range level {
		if l&^1 != 0 {
			return fmt.Errorf("definition level %d of a flat column: %w", l, errMalformed)
		}
		present += int(l)
	}
	if err := c.values.read(dst[:present]); err != nil {
		return err
	}
	if present == len(dst) {
		return nil
	}
	c.nulls += int64(len(dst) - present)
	// Spread from the end, so that no value is overwritten before it moved.
	null := ingest.Null.Cell()
	from := present
	for i := len(dst) - 1; i >= 0; i-- {
		if level[i] == 0 {
			dst[i] = null
			continue
		}
		from--
		dst[i] = dst[from]
	}
	return nil
}

// Bytes that a page may have beyond those of its values: 8 a value for levels,
// indexes and runs, and at most pageSlack for what does not grow with them, such as a
// block of differences that is not full, or entries of a dictionary that no row has.
// Among many columns it is less for each.
const (
	slackOfValue = 8
	pageSlack    = 1 << 20
)

// mostBytes is how many bytes a page of so many values has at most, of a column whose
// pages are read whole up to a size. A compressed page of 6 KB can have 256 MiB, which
// nobody is to allocate for ten values.
func (c *column) mostBytes(values int64, whole int) int64 {
	return values*int64(c.width+slackOfValue) + int64(min(max(whole, smallestWhole), pageSlack))
}

// decompressed returns the first size bytes of what is stored, of a page with so
// many values, in buf if they had to be decompressed.
func (c *cursor) decompressed(buf *[]byte, stored []byte, size, values int64) ([]byte, error) {
	if c.chunk.codec == format.Uncompressed {
		if size != int64(len(stored)) {
			return nil, wrongLength(len(stored), int(size))
		}
		return stored, nil
	}
	if size < 0 || size > maxPage || size > c.chunk.uncompressed {
		return nil, fmt.Errorf("a page claims %d bytes, its chunk has %d (at most %d are read): %w", size, c.chunk.uncompressed, maxPage, errMalformed)
	}
	if most := c.col.mostBytes(values, c.whole); size > most {
		return nil, fmt.Errorf("a page claims %d bytes for %d values, which have %d at most: %w", size, values, most, errMalformed)
	}
	dst := grow(buf, int(size))
	return dst, c.codec.decompress(c.chunk.codec, dst, stored)
}

// dictionary decodes the dictionary page.
func (c *cursor) dictionary(h *parquetmeta.PageHeader) error {
	stored, err := c.pages.body()
	if err != nil {
		return err
	}
	if h.Encoding != format.Plain && h.Encoding != format.PlainDictionary { //nolint:staticcheck // older writers use the deprecated name
		return fmt.Errorf("encoding %v is not read", h.Encoding)
	}
	if c.col.width == 0 {
		return fmt.Errorf("booleans with a dictionary: %w", errMalformed)
	}
	n := int64(h.Values)
	b, err := c.decompressed(&c.body, stored, int64(h.Uncompressed), min(n, c.chunk.rows))
	if err != nil {
		return err
	}
	if n < 0 || n*int64(c.col.width) != int64(len(b)) {
		return fmt.Errorf("%d values in %d bytes: %w", n, len(b), errMalformed)
	}
	if int64(cap(c.table)) < n {
		if err := c.allowed.take(8 * n); err != nil {
			return err
		}
		c.table = make([]float64, n)
	}
	c.table = c.table[:n]
	c.col.plain(c.table, b)
	return nil
}

// dataPage starts a data page of version 1: levels and values are compressed
// together, the levels with their length in front.
func (c *cursor) dataPage(h *parquetmeta.PageHeader) error {
	if err := c.start(h.Values); err != nil {
		return err
	}
	switch c.wayOf(h) {
	case directly:
		return c.direct(h)
	case inPieces:
		return c.startStream(h)
	case asAWhole:
	}
	stored, err := c.pages.body()
	if err != nil {
		return err
	}
	b, err := c.decompressed(&c.body, stored, int64(h.Uncompressed), int64(c.rows))
	if err != nil {
		return err
	}
	c.leveled = c.col.optional
	if c.leveled {
		n, err := levelBytes(h, b, 0)
		if err != nil {
			return err
		}
		c.levels.reset(b[4:4+n], 1)
		b = b[4+n:]
	}
	return c.values.reset(c.col, h.Encoding, b, c.table, nil)
}

// levelBytes is how many bytes of definition levels follow the first four of a page of
// version 1, of which more than b are to come.
func levelBytes(h *parquetmeta.PageHeader, b []byte, more int) (int, error) {
	if h.DefinitionLevels != format.RLE {
		return 0, refusedLevels(h)
	}
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4+more) {
		return 0, fmt.Errorf("definition levels end early: %w", errMalformed)
	}
	return int(binary.LittleEndian.Uint32(b)), nil
}

// refusedLevels is the error of levels in an encoding that was given up long ago.
func refusedLevels(h *parquetmeta.PageHeader) error {
	return fmt.Errorf("definition levels in encoding %v are not read; rewrite the file with a current writer", h.DefinitionLevels)
}

// dataPage2 starts a data page of version 2: the levels stand uncompressed
// before the values.
func (c *cursor) dataPage2(h *parquetmeta.PageHeader) error {
	if err := c.start(h.Values); err != nil {
		return err
	}
	if err := c.col.flat(h); err != nil {
		return err
	}
	if h.Repetition != 0 {
		return fmt.Errorf("a page of a flat column has repetition levels: %w", errMalformed)
	}
	switch c.wayOf(h) {
	case directly:
		return c.direct2(h.Definition)
	case inPieces:
		return c.startStream(h)
	case asAWhole:
	}
	stored, err := c.pages.body()
	if err != nil {
		return err
	}
	repetition, definition := int64(h.Repetition), int64(h.Definition)
	if repetition < 0 || definition < 0 || repetition+definition > int64(len(stored)) {
		return fmt.Errorf("levels of %d and %d bytes in a page of %d: %w", repetition, definition, len(stored), errMalformed)
	}
	levels := stored[repetition : repetition+definition]
	values := stored[repetition+definition:]
	size := int64(h.Uncompressed) - repetition - definition
	c.leveled = c.col.optional && definition > 0
	switch {
	case c.chunk.codec != format.Uncompressed && h.Stored:
		if size != int64(len(values)) {
			return wrongLength(len(values), int(size))
		}
		values = keep(&c.body, values)
	case size != 0: // a page of nulls stores nothing, in some codecs not even that
		if values, err = c.decompressed(&c.body, values, size, int64(c.rows)); err != nil {
			return err
		}
	}
	if c.leveled {
		c.levels.reset(keep(&c.own, levels), 1)
	}
	return c.values.reset(c.col, h.Encoding, values, c.table, nil)
}

// flat makes sure that a page of version 2 is one of this column, whose rows have a
// value each, or a null if they may.
func (c *column) flat(h *parquetmeta.PageHeader) error {
	switch {
	case h.Rows != h.Values || h.Nulls < 0 || h.Nulls > h.Values:
		return fmt.Errorf("a page claims %d rows, %d values and %d nulls: %w", h.Rows, h.Values, h.Nulls, errMalformed)
	case !c.optional && (h.Nulls > 0 || h.Definition != 0), h.Nulls > 0 && h.Definition == 0:
		return fmt.Errorf("a page claims %d nulls and %d bytes of levels for them: %w", h.Nulls, h.Definition, errMalformed)
	}
	return nil
}

// start takes the rows of a data page off those of the chunk.
func (c *cursor) start(values int32) error {
	if values < 0 || int64(values) > c.left {
		return fmt.Errorf("a page claims %d rows, %d are left of the row group's: %w", values, c.left, errMalformed)
	}
	c.rows, c.nulls, c.streams = int(values), 0, false
	c.left -= int64(values)
	return nil
}
