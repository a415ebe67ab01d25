package lake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// A walker steps through the pages of one chunk, whatever its values become: it
// decompresses them, bounds and checks what they claim, and decodes the dictionary, levels
// and values. It keeps one page, unless that is read directly, and the dictionary.
type walker[V any] struct {
	col   *column
	chunk chunk
	pages pageReader
	codec *decompressor
	left  int64 // rows of the chunk that are in later pages

	raw    []byte // own buffer for stored pages, if they are not decompressed
	body   []byte // of the current page, decompressed
	own    []byte // the levels of a page of version 2
	values valueReader[V]
	levels hybrid
	level  []int32 // levels of the rows being read
	table  []V     // the dictionary
	null   V

	most     int64  // if not 0: pages are read whole and may have so many bytes
	allowed  *share // nil means no limit
	reserved int64  // own bytes of the allowance

	whole   int     // largest size of a page that is read whole
	more    *window // of a page that is read in pieces
	streams bool    // the current page is read in pieces

	rows    int   // rows of the page that are still to be read
	nulls   int64 // nulls of the page so far
	leveled bool  // the page has definition levels
}

// reset makes c a walker before the first row of a chunk, whose values have width bytes in
// PLAIN. It keeps its buffers. shared is a buffer for stored pages that the walkers of one
// goroutine may share.
func (c *walker[V]) reset(src io.ReaderAt, col *column, width int, ch chunk, codec *decompressor, shared *[]byte) {
	c.col, c.chunk, c.codec, c.left = col, ch, codec, ch.rows
	c.values.col, c.values.width = col, width
	c.most, c.allowed, c.reserved = 0, nil, 0
	c.rows, c.leveled, c.streams, c.table = 0, false, false, c.table[:0]
	c.pages = pageReader{src: src, pos: ch.start, end: ch.end, raw: shared}
	if ch.codec == format.Uncompressed {
		c.pages.raw = &c.raw // values are read from where the page was stored
	}
}

// page goes to the next page with rows, unless the current one has rows left.
func (c *walker[V]) page() error {
	for c.rows == 0 {
		if err := c.nextPage(); errors.Is(err, io.EOF) {
			return c.endsEarly()
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (c *walker[V]) endsEarly() error {
	return fmt.Errorf("the chunk ends %d rows early: %w", c.left, errMalformed)
}

// passed counts n rows as read. After the last row of a page it checks the page against its
// header.
func (c *walker[V]) passed(n int) error {
	if c.rows -= n; c.rows > 0 {
		return nil
	}
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

func (c *walker[V]) finish() error {
	for c.rows == 0 && c.left == 0 {
		if err := c.nextPage(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return fmt.Errorf("%d rows were not read", int64(c.rows)+c.left)
}

// readNullable decodes values of the current page, some of which may be null.
func (c *walker[V]) readNullable(dst []V) error {
	if cap(c.level) < len(dst) {
		c.level = make([]int32, len(dst))
	}
	level := c.level[:len(dst)]
	if err := c.levels.read(level); err != nil {
		return err
	}
	present := 0
	for _, l := range level {
		switch {
		case uint32(l) > uint32(c.col.deep):
			return fmt.Errorf("definition level %d, above %d: %w", l, c.col.deep, errMalformed)
		case l == c.col.deep:
			present++
		}
	}
	if err := c.values.read(dst[:present]); err != nil {
		return err
	}
	if present == len(dst) {
		return nil
	}
	c.nulls += int64(len(dst) - present)
	// Spread from the end, so that no value is overwritten before it moved.
	from := present
	for i := len(dst) - 1; i >= 0; i-- {
		if level[i] != c.col.deep {
			dst[i] = c.null
			continue
		}
		from--
		dst[i] = dst[from]
	}
	return nil
}

// nextPage goes to the next data page. It skips index pages and reads dictionary pages
// on the way.
func (c *walker[V]) nextPage() error {
	for {
		if err := c.pages.next(); err != nil {
			return err
		}
		if err := c.reservePage(); err != nil {
			return err
		}
		switch h := &c.pages.header; {
		case h.Kind == format.DictionaryPage && h.Described:
			if err := c.dictionary(h); err != nil {
				return fmt.Errorf("dictionary: %w", err)
			}
		case (h.Kind == format.DataPage || h.Kind == format.DataPageV2) && h.Described:
			if err := c.dataPage(h); err != nil || h.Values > 0 {
				return err
			}
			return c.passed(0)
		case h.Kind == format.IndexPage:
			if _, err := c.pages.body(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("page of type %d: %w", h.Kind, errMalformed)
		}
	}
}

func (c *walker[V]) wayOf(h *parquetmeta.PageHeader) way {
	if c.most > 0 {
		return asAWhole
	}
	w := c.chunk.wayOf(c.col, h, c.pages.firstBytes(), c.whole)
	c.streams = w == inPieces
	return w
}

// Bytes that a page may have beside its values: 8 a value for levels, indexes and runs,
// and at most pageSlack for parts that do not grow with them, such as a block of
// differences that is not full, or unused entries of a dictionary. With many columns
// each has less.
const (
	slackOfValue = 8
	pageSlack    = 1 << 20
)

// mostBytes bounds the bytes of a page of so many values, of a column whose pages are
// read whole up to a size: a compressed page of 6 KB can claim 256 MiB for ten values.
func (c *column) mostBytes(values int64, whole int) int64 {
	return values*int64(c.width+slackOfValue) + int64(min(max(whole, smallestWhole), pageSlack))
}

// tooLarge returns the error of a page that needs more memory than is allowed.
func (c *walker[V]) tooLarge(bytes int64) error {
	return fmt.Errorf("a page has %d MiB, and at most %d are read of a column that is kept or of text: write smaller pages, or, for a column that is kept, give more memory", bytes>>20+1, c.most>>20)
}

// believe returns an error unless a page of so many values may have size bytes.
func (c *walker[V]) believe(size, values int64) error {
	switch {
	case size < 0 || size > c.chunk.uncompressed:
		return fmt.Errorf("a page claims %d bytes, its chunk has %d: %w", size, c.chunk.uncompressed, errMalformed)
	case c.most > 0 && size > c.most:
		return c.tooLarge(size)
	case c.most == 0 && size > c.col.mostBytes(values, c.whole):
		return fmt.Errorf("a page claims %d bytes for %d values, which have %d at most: %w", size, values, c.col.mostBytes(values, c.whole), errMalformed)
	}
	return nil
}

// unpacked returns the decompressed bytes, as many as size, of a page with so many values.
// They are valid until the next page.
func (c *walker[V]) unpacked(codec format.CompressionCodec, stored []byte, size, values int64) ([]byte, error) {
	if codec == format.Uncompressed {
		switch own := c.pages.raw == &c.raw && !c.values.keeps; {
		case size != int64(len(stored)):
			return nil, wrongLength(len(stored), int(size))
		case own:
			return stored, nil
		}
	} else if err := c.believe(size, values); err != nil {
		return nil, err
	} else if size > maxPage || size/mostRatio(codec) > int64(len(stored)) {
		return nil, fmt.Errorf("a page claims %d bytes, at most %d are read, and codec %v cannot make so many of %d: %w", size, maxPage, codec, len(stored), errMalformed)
	}
	if size == 0 { // a page of nulls stores nothing, in some codecs not even that
		return nil, nil
	}
	if c.values.keeps {
		c.body = nil // the values of the page before have it
	}
	dst := grow(&c.body, int(size))
	if codec == format.Uncompressed {
		copy(dst, stored)
		return dst, nil
	}
	return dst, c.codec.decompress(codec, dst, stored)
}

func (c *walker[V]) dictionary(h *parquetmeta.PageHeader) error {
	stored, err := c.pages.body()
	if err != nil {
		return err
	}
	if h.Encoding != format.Plain && h.Encoding != format.PlainDictionary { //nolint:staticcheck // older writers use the deprecated name
		return fmt.Errorf("encoding %v is not read", h.Encoding)
	}
	width := c.values.width
	switch {
	case width == 0:
		return errBooleanTable
	case width < 0:
		width = 4 // the least: a text has its length in front
	}
	n := int64(h.Values)
	b, err := c.unpacked(c.chunk.codec, stored, int64(h.Uncompressed), min(n, c.chunk.rows))
	if err != nil {
		return err
	}
	if n < 0 || n > int64(len(b)/width) {
		return fmt.Errorf("%d values in %d bytes: %w", n, len(b), errMalformed)
	}
	if int64(cap(c.table)) < n {
		if err := c.allowed.reserve(8 * n); err != nil {
			return err
		}
		c.table = make([]V, n)
	}
	c.table = c.table[:n]
	if err := c.values.reset(format.Plain, b, nil, nil); err != nil {
		return err
	}
	if err := c.values.read(c.table); err != nil {
		return err
	}
	return c.values.finished()
}

// dataPage starts a data page. In version 1 levels and values are compressed together,
// the levels behind their length; in version 2 the levels come first, not compressed.
func (c *walker[V]) dataPage(h *parquetmeta.PageHeader) error {
	err := c.start(h)
	if err == nil && h.Kind == format.DataPageV2 {
		if err = c.col.flat(h); err == nil {
			err = c.readLevels(int(h.Definition))
		}
	}
	if err != nil {
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
	n := c.pages.consumed - c.pages.head
	b, err := c.unpacked(c.chunk.codecOf(h), stored[n:], int64(h.Uncompressed)-int64(n), int64(c.rows))
	if err != nil {
		return err
	}
	if c.leveled && h.Kind == format.DataPage {
		if n, err = levelBytes(h, b, 0); err != nil {
			return err
		}
		c.levels.reset(b[4:4+n], c.col.levelBits())
		b = b[4+n:]
	}
	return c.values.reset(h.Encoding, b, c.table, nil)
}

// readLevels reads n bytes of definition levels from the stored page.
func (c *walker[V]) readLevels(n int) error {
	if n < 0 || n > c.pages.size-c.pages.consumed {
		return fmt.Errorf("definition levels of %d bytes in a page of %d: %w", n, c.pages.size, errMalformed)
	}
	levels := grow(&c.own, n)
	c.levels.reset(levels, c.col.levelBits())
	return c.pages.read(levels)
}

// levelBytes returns the number of bytes of definition levels after the first four bytes of
// a page of version 1. b has the first bytes of the page; more further ones are not in it.
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

// flat returns an error unless a page of version 2 has one value a row, or a null if the
// column may have nulls.
func (c *column) flat(h *parquetmeta.PageHeader) error {
	switch {
	case h.Rows != h.Values || h.Nulls < 0 || h.Nulls > h.Values:
		return fmt.Errorf("a page claims %d rows, %d values and %d nulls: %w", h.Rows, h.Values, h.Nulls, errMalformed)
	case c.deep == 0 && (h.Nulls > 0 || h.Definition != 0), h.Nulls > 0 && h.Definition == 0:
		return fmt.Errorf("a page claims %d nulls and %d bytes of levels for them: %w", h.Nulls, h.Definition, errMalformed)
	case h.Repetition != 0:
		return fmt.Errorf("a page of a flat column has repetition levels: %w", errMalformed)
	}
	return nil
}

// start starts a data page and counts its rows off those of the chunk.
func (c *walker[V]) start(h *parquetmeta.PageHeader) error {
	if h.Values < 0 || int64(h.Values) > c.left {
		return fmt.Errorf("a page claims %d rows, %d are left of the row group's: %w", h.Values, c.left, errMalformed)
	}
	c.rows, c.nulls, c.streams, c.leveled = int(h.Values), 0, false, c.col.deep > 0
	c.left -= int64(h.Values)
	if h.Kind == format.DataPageV2 {
		c.leveled = c.leveled && h.Definition > 0
	}
	return nil
}
