package lake

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
)

// checkedAtOnce is the number of values that are decoded and checked at a time, in the processor's
// first cache.
const checkedAtOnce = 2048

// A cursor reads the values of one chunk as numbers, in order, and checks them against the
// footer.
type cursor struct {
	walker[float64]

	seen  statistics
	label *labelCursor // of text; nil: numbers
}

// reset puts c before the first row of a chunk and keeps its buffers. The cursors of one
// goroutine may use one buffer shared; whole is the largest size of a page that is read whole.
func (c *cursor) reset(src io.ReaderAt, col *column, ch chunk, codec *decompressor, shared *[]byte, whole int) {
	c.walker.reset(src, col, col.width, ch, codec, shared)
	c.values.to, c.null, c.whole, c.seen, c.label = col, ingest.Null.Cell(), whole, newStatistics(), nil
}

// read decodes the next len(dst) values. Nulls and other faults are cells of
// [ingest.Fault.Cell].
func (c *cursor) read(dst []float64) (err error) {
	if c.label != nil {
		c.seen.finite, err = c.label.read(dst)
		return err
	}
	c.seen.finite = true
	for len(dst) > 0 {
		if err := c.page(); err != nil {
			return err
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
		if c.rows == n || !finite || lo < c.chunk.lo.value || hi > c.chunk.hi.value { // the page's last values, or suspicious ones
			if err := c.verify(c.rows == n); err != nil {
				return err
			}
		}
		if err := c.seen.add(dst[:n], lo, hi, finite, &c.chunk); err != nil {
			return err
		}
		if err := c.passed(n); err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

// verify checks the checksum of the current page. all says that its last value was read.
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

// finish checks, after the last row, that the chunk has no more rows, and its statistics.
func (c *cursor) finish() error {
	if c.label != nil {
		c.seen.nulls, c.seen.faults = c.label.nulls, true
		return errors.Join(c.label.stored.finish(), c.seen.compare(&c.label.stored.chunk))
	}
	if err := c.walker.finish(); err != nil {
		return err
	}
	return c.seen.compare(&c.chunk)
}

// readPage decodes values of the current page and returns their extent.
func (c *cursor) readPage(dst []float64) (lo, hi float64, finite bool, err error) {
	if c.leveled && !c.levels.skip(len(dst), c.col.deep) {
		err = c.readNullable(dst)
	} else if src := c.doubles(len(dst)); src != nil {
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

// doubles returns the stored bytes of the next n values if they are doubles in PLAIN; nil
// otherwise, or if the page has fewer.
func (c *cursor) doubles(n int) []byte {
	v := &c.values
	if v.encoding != format.Plain || c.col.kind != kindDouble || v.more != nil && v.refill(n) != nil || 8*(v.pos+n) > len(v.data) {
		return nil
	}
	src := v.data[8*v.pos : 8*(v.pos+n)]
	v.pos += n
	return src
}
