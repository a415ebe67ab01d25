package lake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// A walker reads the values of one chunk, whatever they become. It bounds what pages claim,
// decompresses them and puts nulls among their values. It keeps one page and the dictionary.
type walker[V any] struct {
	col   *column
	chunk chunk
	pages pageReader
	lane  *lane
	left  int64 // rows of the chunk that are in later pages
	make  func(dst []V, from *decoded, at int)

	raw   []byte // own buffer for stored pages, if they are not decompressed
	body  []byte // of the current page, decompressed
	page  decoder
	table []V // the dictionary
	null  V

	most     int64      // if not 0: pages may have so many bytes
	slack    int64      // bytes of a page next to its values
	allowed  *allowance // nil means no limit
	reserved int64      // own bytes of the allowance

	pieces   bool // large pages of doubles that are stored as they are may be read in pieces
	inPieces bool // the values of the current page are

	rows  int    // rows of the page that are still to be read
	level []byte // their levels; nil if none is null
	at    int    // the values of the page that were read
}

// reset puts c before the first row of a chunk, whose values have width bytes in PLAIN. It keeps its
// buffers, and uses those of a lane.
func (c *walker[V]) reset(src io.ReaderAt, col *column, width int, ch chunk, l *lane) {
	c.col, c.chunk, c.lane, c.left = col, ch, l, ch.rows
	c.page.col, c.page.width = col, width
	c.most, c.slack, c.allowed, c.reserved = 0, pageSlack, nil, 0
	c.page.most, c.rows, c.table = maxPage, 0, c.table[:0]
	c.pages = pageReader{src: src, pos: ch.start, end: ch.end, raw: &l.stored}
	if ch.codec == format.Uncompressed {
		c.pages.raw = &c.raw // values are read from where the page was stored
	}
}

// bound allows pages of at most so many bytes, after a reset.
func (c *walker[V]) bound(limit int64) {
	c.most, c.page.most, c.pages.most = limit, limit, int(min(limit, maxPage))
}

// next reads values of one page, at least one and at most len(dst), and returns how many.
func (c *walker[V]) next(dst []V) (int, error) {
	for c.rows == 0 {
		if err := c.nextPage(); errors.Is(err, io.EOF) {
			return 0, c.endsEarly()
		} else if err != nil {
			return 0, err
		}
	}
	n := min(c.rows, len(dst))
	dst = dst[:n]
	c.rows -= n
	if c.level == nil {
		return n, c.values(dst)
	}
	level := c.level[:n]
	c.level = c.level[n:]
	present := bytes.Count(level, []byte{byte(c.col.deep)})
	if err := c.values(dst[:present]); err != nil {
		return 0, err
	}
	for i := n - 1; i >= 0 && present < i+1; i-- { // from the end, so that no value is overwritten before it moved
		if level[i] != byte(c.col.deep) {
			dst[i] = c.null
			continue
		}
		present--
		dst[i] = dst[present]
	}
	return n, nil
}

// values makes the next values of the page.
func (c *walker[V]) values(dst []V) error {
	at := c.at
	if c.at += len(dst); c.page.indexed {
		return lookUp(dst, &c.page.indexes, c.table)
	}
	if len(dst) > 0 {
		c.make(dst, &c.page.decoded, at)
	}
	return nil
}

func (c *walker[V]) endsEarly() error {
	return fmt.Errorf("the chunk ends %d rows early: %w", c.left, errMalformed)
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

// nextPage goes to the next data page. It skips index pages and reads dictionary pages on the way.
func (c *walker[V]) nextPage() error {
	for {
		if err := c.pages.next(); err != nil {
			return err
		}
		c.inPieces = false
		if err := c.reservePage(); err != nil {
			return err
		}
		switch h := &c.pages.header; h.Kind {
		case format.DictionaryPage:
			if err := c.dictionary(h); err != nil {
				return fmt.Errorf("dictionary: %w", err)
			}
		case format.DataPage, format.DataPageV2:
			if err := c.dataPage(h); err != nil || h.Values > 0 {
				return err
			}
		case format.IndexPage:
			if _, err := c.pages.body(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("page of type %d: %w", h.Kind, errMalformed)
		}
	}
}

const (
	// A page may have next to its values 8 bytes a value for levels, indexes and runs, and pageSlack
	// for what does not grow with them, such as a block of differences that is not full, or unused
	// entries of a dictionary. With many columns each has less.
	slackOfValue = 8
	pageSlack    = 1 << 20
	leastSlack   = 64 << 10
	slackOfAll   = 128 << 20

	// A page may have mostValues, and more if its stored bytes have as many bits: few bytes can
	// claim many values that are equal or null.
	mostValues = 1 << 22
)

// tooLarge returns the error of a page that needs more memory than is allowed.
func (c *walker[V]) tooLarge(bytes int64) error {
	return fmt.Errorf("a page has %d MiB, and at most %d are read of a column that is kept or of text: write smaller pages, or, for a column that is kept, give more memory", bytes>>20+1, c.most>>20)
}

// believe returns an error unless a page of so many values may have size bytes: a compressed page of 6 KB
// can claim 256 MiB for ten values.
func (c *walker[V]) believe(size, values int64) error {
	switch most := values*int64(c.col.width+slackOfValue) + c.slack; {
	case size < 0 || size > c.chunk.uncompressed:
		return fmt.Errorf("a page claims %d bytes, its chunk has %d: %w", size, c.chunk.uncompressed, errMalformed)
	case c.most > 0 && size > c.most:
		return c.tooLarge(size)
	case c.most == 0 && size > most:
		return fmt.Errorf("a page claims %d bytes for %d values, which have %d at most: %w", size, values, most, errMalformed)
	}
	return nil
}

// unpacked returns the decompressed bytes, as many as size, of a page with so many values.
// They are valid until the next page.
func (c *walker[V]) unpacked(codec format.CompressionCodec, stored []byte, size, values int64) ([]byte, error) {
	if c.inPieces {
		return stored, nil
	}
	if codec == format.Uncompressed {
		switch own := c.pages.raw == &c.raw && !c.page.keeps; {
		case size != int64(len(stored)):
			return nil, wrongLength(len(stored), int(size))
		case own:
			return stored, nil
		}
	} else if err := c.believe(size, values); err != nil {
		return nil, err
	} else if size > maxPage || size/codecs[codec] > int64(len(stored)) {
		return nil, fmt.Errorf("a page claims %d bytes, at most %d are read, and codec %v cannot make so many of %d: %w", size, maxPage, codec, len(stored), errMalformed)
	}
	if size == 0 { // a page of nulls stores nothing, in some codecs not even that
		return nil, nil
	}
	if c.page.keeps {
		c.body = nil // the values of the page before have it
	}
	dst := grow(&c.body, int(size))
	if codec == format.Uncompressed {
		copy(dst, stored)
		return dst, nil
	}
	return dst, c.lane.codec.decompress(codec, dst, stored)
}

func (c *walker[V]) dictionary(h *parquetmeta.PageHeader) error {
	stored, err := c.pages.body()
	if err != nil {
		return err
	}
	if h.Encoding != format.Plain && h.Encoding != format.PlainDictionary { //nolint:staticcheck // older writers use the deprecated name
		return fmt.Errorf("encoding %v is not read", h.Encoding)
	}
	width := c.page.width
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
	if err := c.allowed.reserve(8 * n); err != nil {
		return err
	}
	if err := c.page.decode(format.Plain, b, int(n)); err != nil {
		return err
	}
	c.table = slices.Grow(c.table[:0], int(n))[:n]
	if n > 0 {
		c.make(c.table, &c.page.decoded, 0)
	}
	return nil
}

// dataPage reads a data page. In version 1 levels and values are compressed together,
// the levels behind their length; in version 2 the levels come first, not compressed.
func (c *walker[V]) dataPage(h *parquetmeta.PageHeader) error {
	n := int(h.Values)
	if n < 0 || int64(n) > c.left {
		return fmt.Errorf("a page claims %d rows, %d are left of the row group's: %w", n, c.left, errMalformed)
	}
	if n > mostValues && n/8 > c.pages.size {
		return fmt.Errorf("a page claims %d values in %d bytes, of such pages at most %d are read: write smaller pages", n, c.pages.size, mostValues)
	}
	stored, err := c.storedPage(h)
	if err != nil {
		return err
	}
	var levels []byte
	size, codec := int64(h.Uncompressed), c.chunk.codec
	if h.Kind == format.DataPageV2 {
		if !h.Packed {
			codec = format.Uncompressed
		}
		if err := c.col.flat(h); err != nil {
			return err
		}
		if int(h.Definition) > len(stored) {
			return fmt.Errorf("definition levels of %d bytes in a page of %d: %w", h.Definition, len(stored), errMalformed)
		}
		levels, stored, size = stored[:h.Definition], stored[h.Definition:], size-int64(h.Definition)
	}
	b, err := c.unpacked(codec, stored, size, int64(n))
	if err != nil {
		return err
	}
	leveled := c.col.deep > 0 && (h.Kind == format.DataPage || h.Definition > 0)
	if leveled && h.Kind == format.DataPage {
		if levels, b, err = splitLevels(h, b); err != nil {
			return err
		}
	}
	present := n
	if c.level = nil; leveled {
		if present, err = c.readLevels(levels, n); err != nil {
			return err
		}
	}
	if h.Kind == format.DataPageV2 && n-present != int(h.Nulls) {
		return fmt.Errorf("the page has %d nulls, its header says %d: %w", n-present, h.Nulls, errMalformed)
	}
	if err := c.startValues(h.Encoding, b, present); err != nil {
		return err
	}
	if c.page.indexed && present > 0 && len(c.table) == 0 {
		return errFewValues
	}
	c.rows, c.at, c.left = n, 0, c.left-int64(n)
	return nil
}

// storedPage returns the stored bytes of a page; of one that is read in pieces those before its values, at least.
func (c *walker[V]) storedPage(h *parquetmeta.PageHeader) ([]byte, error) {
	if c.inPieces = c.isInPieces(h); c.inPieces {
		return c.pages.ahead[c.pages.head:], nil
	}
	return c.pages.body()
}

// startValues decodes the values of a page, n of which are not null, or puts c before those read in pieces.
func (c *walker[V]) startValues(encoding format.Encoding, b []byte, n int) error {
	switch {
	case !c.inPieces:
		return c.page.decode(encoding, b, n)
	case n < int(c.pages.header.Values):
		return errFewValues
	}
	c.page.decoded = decoded{}
	c.pages.read = len(c.pages.ahead) - len(b)
	c.pages.sum = crc32.ChecksumIEEE(c.pages.ahead[c.pages.head:c.pages.read])
	return nil
}

// isInPieces reports whether the values of a data page are read in pieces. All but its levels, which
// are then in the bytes read with the header, must be doubles.
func (c *walker[V]) isInPieces(h *parquetmeta.PageHeader) bool {
	if !c.pieces || h.Encoding != format.Plain || h.Values < pieceValues {
		return false
	}
	levels, ahead := int(h.Definition), c.pages.ahead[c.pages.head:]
	if h.Kind == format.DataPage {
		if levels = 0; c.col.deep > 0 && len(ahead) >= 4 {
			levels = 4 + int(binary.LittleEndian.Uint32(ahead))
		}
	}
	return levels <= len(ahead) && levels+8*int(h.Values) == int(h.Compressed) && h.Compressed == h.Uncompressed
}

// readLevels decodes the levels of n rows and returns how many of them are not null.
func (c *walker[V]) readLevels(data []byte, n int) (present int, err error) {
	c.page.levels, err = decodeRuns(c.page.levels, data, uint(bits.Len32(uint32(c.col.deep))), n)
	if err != nil {
		return 0, err
	}
	if present = bytes.Count(c.page.levels, []byte{byte(c.col.deep)}); present == n {
		return present, nil
	}
	for _, l := range c.page.levels {
		if l > byte(c.col.deep) {
			return 0, fmt.Errorf("definition level %d, above %d: %w", l, c.col.deep, errMalformed)
		}
	}
	c.level = c.page.levels
	return present, nil
}

// splitLevels returns the definition levels of a page of version 1, and its values.
func splitLevels(h *parquetmeta.PageHeader, b []byte) (levels, values []byte, err error) {
	if h.DefinitionLevels != format.RLE {
		return nil, nil, fmt.Errorf("definition levels in encoding %v are not read; rewrite the file with a current writer", h.DefinitionLevels)
	}
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return nil, nil, fmt.Errorf("definition levels end early: %w", errMalformed)
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	return b[4:n], b[n:], nil
}

// flat returns an error unless a page of version 2 has one value a row, or a null if the column may have nulls.
func (c *column) flat(h *parquetmeta.PageHeader) error {
	switch {
	case h.Rows != h.Values || h.Nulls < 0 || h.Nulls > h.Values || h.Definition < 0:
		return fmt.Errorf("a page claims %d rows, %d values and %d nulls: %w", h.Rows, h.Values, h.Nulls, errMalformed)
	case c.deep == 0 && (h.Nulls > 0 || h.Definition != 0), h.Nulls > 0 && h.Definition == 0:
		return fmt.Errorf("a page claims %d nulls and %d bytes of levels for them: %w", h.Nulls, h.Definition, errMalformed)
	case h.Repetition != 0:
		return fmt.Errorf("a page of a flat column has repetition levels: %w", errMalformed)
	}
	return nil
}

// reservePage reserves memory for the current page, instead of the page before.
func (c *walker[V]) reservePage() error {
	if c.most > 0 && int64(c.pages.size) > c.most {
		return c.tooLarge(int64(c.pages.size))
	}
	if c.allowed == nil {
		return nil
	}
	own, shared := c.col.pageOverhead(&c.chunk, &c.pages)
	more := max(0, own-c.reserved) + max(0, shared-c.lane.held)
	c.reserved, c.lane.held = max(c.reserved, own), max(c.lane.held, shared)
	return c.allowed.reserve(more)
}
