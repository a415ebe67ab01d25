package lake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// A storedCursor reads the values of one chunk as they are stored. A page is decompressed
// as a whole, into memory of its own that its texts keep; its values are decoded as they
// are asked for.
type storedCursor struct {
	col   *column
	width int // bytes of a value in PLAIN; 0 of booleans, −1 if each has its own
	chunk chunk
	pages pageReader
	raw   []byte
	codec decompressor
	most  int64 // bytes of a page
	left  int64 // rows of the chunk in later pages
	table []parquet.Value

	rows    int // of the page, that are still to be read
	leveled bool
	levels  hybrid
	level   []int32
	from    storedValues
}

// storedValues decodes the values of a page that are not null.
type storedValues interface {
	read(dst []parquet.Value) error
	// finished makes sure that the page has no more.
	finished() error
}

func newStoredCursor(src io.ReaderAt, col *column, ch chunk, most int64) *storedCursor {
	c := &storedCursor{col: col, width: plainWidth(col), chunk: ch, most: most, left: ch.rows}
	c.pages = pageReader{src: src, pos: ch.start, end: ch.end, most: int(min(most, maxPage)), raw: &c.raw}
	return c
}

// plainWidth is how many bytes a value has in PLAIN.
func plainWidth(c *column) int {
	switch c.element.Physical {
	case format.Boolean:
		return 0
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return int(c.element.Length)
	default:
		return -1
	}
}

// read reads the next len(dst) values; nulls are the zero value.
func (c *storedCursor) read(dst []parquet.Value) error {
	for len(dst) > 0 {
		for c.rows == 0 {
			if err := c.nextPage(); err != nil {
				if errors.Is(err, io.EOF) {
					err = fmt.Errorf("the chunk ends %d rows early: %w", c.left, errMalformed)
				}
				return err
			}
		}
		n := min(c.rows, len(dst))
		if err := c.readPage(dst[:n]); err != nil {
			return err
		}
		dst = dst[n:]
		if c.rows -= n; c.rows > 0 {
			continue
		}
		if c.leveled {
			if err := c.levels.finished(); err != nil {
				return err
			}
		}
		if err := c.from.finished(); err != nil {
			return err
		}
	}
	return nil
}

// finish makes sure that the chunk has no more rows.
func (c *storedCursor) finish() error {
	for c.rows == 0 && c.left == 0 {
		if err := c.nextPage(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return fmt.Errorf("%d rows were not read", int64(c.rows)+c.left)
}

// readPage reads values of the current page.
func (c *storedCursor) readPage(dst []parquet.Value) error {
	if !c.leveled || c.levels.skipOnes(len(dst)) {
		return c.from.read(dst)
	}
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
	if err := c.from.read(dst[:present]); err != nil {
		return err
	}
	for i := len(dst) - 1; i >= 0; i-- { // from the end, so that no value is overwritten before it moved
		if level[i] == 0 {
			dst[i] = parquet.Value{}
			continue
		}
		present--
		dst[i] = dst[present]
	}
	return nil
}

// nextPage makes the next data page the current one.
func (c *storedCursor) nextPage() error {
	for {
		if err := c.pages.next(); err != nil {
			if errors.Is(err, errLongHeader) {
				err = fmt.Errorf("%w: give more memory, or write the file without statistics of its pages", err)
			}
			return err
		}
		h := &c.pages.header
		if int64(c.pages.size) > c.most {
			return c.tooLarge(int64(c.pages.size))
		}
		stored, err := c.pages.body()
		if err != nil {
			return err
		}
		switch {
		case h.Kind == format.DictionaryPage && h.Described:
			if err := c.dictionary(h, stored); err != nil {
				return fmt.Errorf("dictionary: %w", err)
			}
		case (h.Kind == format.DataPage || h.Kind == format.DataPageV2) && h.Described:
			if h.Values < 0 || int64(h.Values) > c.left {
				return fmt.Errorf("a page claims %d rows, %d are left of the row group's: %w", h.Values, c.left, errMalformed)
			}
			c.rows = int(h.Values)
			c.left -= int64(h.Values)
			if h.Kind == format.DataPageV2 {
				return c.dataPage2(h, stored)
			}
			return c.dataPage(h, stored)
		case h.Kind == format.IndexPage:
		default:
			return fmt.Errorf("page of type %d: %w", h.Kind, errMalformed)
		}
	}
}

func (c *storedCursor) tooLarge(bytes int64) error {
	return fmt.Errorf("a page has %d MiB, and at most %d are read of a column that is kept: give more memory, or write smaller pages", bytes>>20+1, c.most>>20)
}

// unpacked returns the size bytes that are stored, in memory of their own.
func (c *storedCursor) unpacked(codec format.CompressionCodec, stored []byte, size int64) ([]byte, error) {
	switch {
	case size < 0 || size > maxPage || size > c.chunk.uncompressed:
		return nil, fmt.Errorf("a page claims %d bytes, its chunk has %d: %w", size, c.chunk.uncompressed, errMalformed)
	case size > c.most:
		return nil, c.tooLarge(size)
	case size/mostRatio(codec) > int64(len(stored)):
		return nil, fmt.Errorf("a page claims %d bytes, and codec %v cannot make so many of %d: %w", size, codec, len(stored), errMalformed)
	}
	own := make([]byte, size, size+unpackPadding)
	if codec != format.Uncompressed {
		if size == 0 { // a page of nulls stores nothing, in some codecs not even that
			return own, nil
		}
		return own, c.codec.decompress(codec, own, stored)
	}
	if size != int64(len(stored)) {
		return nil, wrongLength(len(stored), int(size))
	}
	copy(own, stored)
	return own, nil
}

// dictionary decodes the dictionary page.
func (c *storedCursor) dictionary(h *parquetmeta.PageHeader, stored []byte) error {
	if h.Encoding != format.Plain && h.Encoding != format.PlainDictionary { //nolint:staticcheck // older writers use the deprecated name
		return fmt.Errorf("encoding %v is not read", h.Encoding)
	}
	b, err := c.unpacked(c.chunk.codec, stored, int64(h.Uncompressed))
	if err != nil {
		return err
	}
	least := max(c.width, 4) // a text has its length in front
	if c.width > 0 {
		least = c.width
	}
	if n := int(h.Values); c.width == 0 || n < 0 || n > len(b)/least {
		return fmt.Errorf("%d values in %d bytes: %w", n, len(b), errMalformed)
	}
	c.table = make([]parquet.Value, h.Values)
	values := &plainValues{c: c, data: b}
	if err := values.read(c.table); err != nil {
		return err
	}
	return values.finished()
}

// dataPage starts a data page of version 1.
func (c *storedCursor) dataPage(h *parquetmeta.PageHeader, stored []byte) error {
	b, err := c.unpacked(c.chunk.codec, stored, int64(h.Uncompressed))
	if err != nil {
		return err
	}
	if c.leveled = c.col.optional; c.leveled {
		n, err := levelBytes(h, b, 0)
		if err != nil {
			return err
		}
		c.levels.reset(b[4:4+n], 1)
		b = b[4+n:]
	}
	return c.values(h.Encoding, b)
}

// dataPage2 starts a data page of version 2.
func (c *storedCursor) dataPage2(h *parquetmeta.PageHeader, stored []byte) error {
	if err := c.col.flat(h); err != nil {
		return err
	}
	definition := int(h.Definition)
	if h.Repetition != 0 || definition < 0 || definition > len(stored) {
		return fmt.Errorf("levels of %d and %d bytes in a page of %d: %w", h.Repetition, definition, len(stored), errMalformed)
	}
	c.leveled = c.col.optional && definition > 0
	levels := append(make([]byte, 0, definition+unpackPadding), stored[:definition]...)
	c.levels.reset(levels, 1)
	b, err := c.unpacked(c.chunk.codecOf(h), stored[definition:], int64(h.Uncompressed)-int64(definition))
	if err != nil {
		return err
	}
	return c.values(h.Encoding, b)
}

// values starts to decode the values of a page.
func (c *storedCursor) values(encoding format.Encoding, data []byte) error {
	var err error
	switch encoding {
	case format.Plain:
		c.from = &plainValues{c: c, data: data}
		return nil
	case format.RLEDictionary, format.PlainDictionary: //nolint:staticcheck // older writers use the deprecated name
		c.from, err = newLookedUp(c.table, data)
		return err
	case format.DeltaBinaryPacked:
		if c.width != 4 && c.width != 8 || c.col.element.Physical == format.Float || c.col.element.Physical == format.Double {
			break
		}
		c.from, err = newDifferences(c.width, data)
		return err
	case format.DeltaLengthByteArray:
		if c.width >= 0 {
			break
		}
		c.from, err = newTexts(data, c.rows)
		return err
	case format.DeltaByteArray:
		if c.col.element.Physical != format.ByteArray && c.col.element.Physical != format.FixedLenByteArray {
			break
		}
		c.from, err = newPrefixed(c, data)
		return err
	case format.ByteStreamSplit:
		if c.width < 1 {
			break
		}
		c.from = &apart{c: c, data: data}
		return nil
	default:
	}
	return fmt.Errorf("encoding %v of %s values is not read; rewrite the file with encoding PLAIN or a dictionary", encoding, c.col.Type)
}

// value is a value of a fixed width, from its bytes in PLAIN. It may keep them.
func (c *storedCursor) value(b []byte) parquet.Value {
	le := binary.LittleEndian
	switch c.col.element.Physical {
	case format.Int32:
		return parquet.Int32Value(int32(le.Uint32(b)))
	case format.Int64:
		return parquet.Int64Value(int64(le.Uint64(b)))
	case format.Int96:
		return parquet.Int96Value(deprecated.Int96{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])})
	case format.Float:
		return parquet.FloatValue(math.Float32frombits(le.Uint32(b)))
	case format.Double:
		return parquet.DoubleValue(math.Float64frombits(le.Uint64(b)))
	default:
		return parquet.FixedLenByteArrayValue(b)
	}
}
