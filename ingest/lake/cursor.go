package lake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// checkedAtOnce is how many values are decoded and then checked, while they are
// in the processor's first cache.
const checkedAtOnce = 2048

// A cursor reads the values of one chunk from its first to its last, as many at
// a time as are asked for. It keeps one page, unless that is read directly, and the dictionary.
type cursor struct {
	col   *column
	chunk chunk
	pages pageReader
	codec *decompressor
	left  int64 // rows of the chunk that are in later pages

	raw    []byte // own buffer for stored pages, if they are not decompressed
	body   []byte // of the current page, decompressed
	own    []byte // the levels of a page of version 2
	values valueReader
	levels hybrid
	level  []int32   // levels of the rows being read
	table  []float64 // the dictionary

	allowed *share // nil: there is no limit
	taken   int64  // of it

	whole   int     // how large a page may be to be read whole
	more    *window // of a page that is read in pieces
	streams bool    // the current page is one

	rows    int   // rows of the page that are still to be read
	nulls   int64 // nulls of the page so far
	leveled bool  // the page has definition levels
	seen    statistics
}

// reset makes c a cursor before the first row of a chunk. It keeps its buffers.
// shared is a buffer that the cursors of one goroutine may share.
func (c *cursor) reset(src io.ReaderAt, col *column, ch chunk, codec *decompressor, shared *[]byte, whole int) {
	c.whole, c.streams = whole, false
	c.allowed, c.taken = nil, 0
	c.col, c.chunk, c.codec, c.left, c.seen = col, ch, codec, ch.rows, newStatistics()
	c.rows, c.leveled, c.table = 0, false, c.table[:0]
	c.pages = pageReader{src: src, pos: ch.start, end: ch.end, raw: shared}
	if ch.codec == format.Uncompressed {
		c.pages.raw = &c.raw // values are read from where the page was stored
	}
}

// read decodes the next len(dst) values. Nulls and other faults are cells made
// by [ingest.Fault.Cell].
func (c *cursor) read(dst []float64) error {
	c.seen.finite = true
	for len(dst) > 0 {
		for c.rows == 0 {
			if err := c.nextPage(); err != nil {
				if errors.Is(err, io.EOF) {
					err = c.endsEarly()
				}
				return err
			}
		}
		atOnce := checkedAtOnce
		if c.values.pages != nil {
			atOnce = directAtOnce
		}
		n := min(c.rows, len(dst), atOnce)
		lo, hi, finite, err := c.readPage(dst[:n])
		if err != nil {
			return err
		}
		if c.rows == n || !finite || lo < c.chunk.lo.value || hi > c.chunk.hi.value { // the page's last values, or such as damage makes
			if err := c.verify(c.rows == n); err != nil {
				return err
			}
		}
		if err := c.seen.add(dst[:n], lo, hi, finite, &c.chunk); err != nil {
			return err
		}
		if c.rows -= n; c.rows == 0 {
			if err := c.endPage(); err != nil {
				return err
			}
		}
		dst = dst[n:]
	}
	return nil
}

// verify makes sure of the checksum of the current page, of which all values were
// read, or not yet.
func (c *cursor) verify(all bool) error {
	switch {
	case !c.streams:
		return c.pages.verify()
	case all:
		return c.closeStream()
	default:
		return c.pages.sumAhead()
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

// finish checks, after the last row, that the chunk has no more, and its
// statistics.
func (c *cursor) finish() error {
	if c.rows > 0 || c.left > 0 {
		return fmt.Errorf("%d rows were not read", int64(c.rows)+c.left)
	}
	for {
		err := c.nextPage()
		if errors.Is(err, io.EOF) {
			return c.seen.compare(&c.chunk)
		}
		if err != nil {
			return err
		}
	}
}

// readPage decodes values of the current page and returns their extent.
func (c *cursor) readPage(dst []float64) (lo, hi float64, finite bool, err error) {
	if c.leveled && !c.levels.skipOnes(len(dst)) {
		err = c.readNullable(dst)
	} else if src := c.values.doubles(len(dst)); src != nil {
		lo, hi, finite = copyExtent(dst, src)
		return lo, hi, finite, nil
	} else {
		err = c.values.read(dst)
	}
	if err != nil {
		return 0, 0, false, err
	}
	lo, hi, finite = extent(dst)
	return lo, hi, finite, nil
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
