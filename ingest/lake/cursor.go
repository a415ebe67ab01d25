package lake

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
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
