package lake

import (
	"errors"
	"io"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// checkedAtOnce is the number of values that are decoded and checked at a time, in the processor's
// first cache.
const checkedAtOnce = 2048

// A cursor reads the values of one chunk as numbers, in order, and checks them against the
// footer.
type cursor struct {
	walker[float64]

	seen statistics

	texts  job.ColumnTexts    // of a column of text
	known  map[string]float64 // the latest labels of texts
	failed error              // of a label
}

// reset puts c before the first row of a chunk and keeps its buffers. The cursors of one
// goroutine may use one buffer shared.
func (c *cursor) reset(src io.ReaderAt, col *column, ch chunk, codec *decompressor, shared *[]byte, slack int64) {
	width := col.width
	if col.Text {
		width = -1
	}
	c.walker.reset(src, col, width, ch, codec, shared)
	c.make, c.null, c.slack, c.seen, c.failed = c.numbers, ingest.Null.Cell(), slack, newStatistics(), nil
	if col.Text {
		c.make, c.texts, c.known = c.labels, job.ColumnTexts{}, map[string]float64{}
		c.bound(mostLabelPage)
	}
}

// numbers converts values.
func (c *cursor) numbers(dst []float64, from *decoded, at int) {
	c.col.plain(dst, from.fixed[at*max(c.col.width, 1):])
}

// read decodes the next len(dst) values. Nulls and other faults are cells of
// [ingest.Fault.Cell].
func (c *cursor) read(dst []float64) (err error) {
	c.seen.finite = true
	for len(dst) > 0 {
		n, err := c.next(dst[:min(len(dst), checkedAtOnce)])
		if err := errors.Join(err, c.failed); err != nil {
			return err
		}
		lo, hi, finite := extent(dst[:n])
		if err := c.seen.add(dst[:n], lo, hi, finite, &c.chunk); err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

// finish checks, after the last row, that the chunk has no more rows, and its statistics.
func (c *cursor) finish() error {
	if err := c.walker.finish(); err != nil {
		return err
	}
	return c.seen.compare(&c.chunk)
}
