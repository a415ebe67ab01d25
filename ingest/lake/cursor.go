package lake

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// checkedAtOnce is the number of values that are decoded and checked at a time, in the processor's first cache.
const checkedAtOnce = 2048

// pieceValues is the number of values of a piece of a page that is read in pieces: each costs a system
// call, and whole pages of all columns would not fit into the second cache.
const pieceValues = 8192

// A cursor reads the values of one chunk as numbers, in order, and checks them against the footer.
type cursor struct {
	walker[float64]

	lo, hi float64 // of the values so far
	nulls  int64
	faults bool // some value is bad and not null: bounds may not be attained

	groups job.GroupsDecl     // of a column of text
	known  map[string]float64 // the latest labels of texts
	failed error              // of a label
}

// reset puts c before the first row of a chunk and keeps its buffers.
func (c *cursor) reset(src io.ReaderAt, col *column, ch chunk, l *lane, slack int64) {
	width := col.width
	if col.Text {
		width = -1
	}
	c.walker.reset(src, col, width, ch, l)
	c.make, c.null, c.slack, c.failed = c.numbers, ingest.Null.Cell(), slack, nil
	c.lo, c.hi, c.nulls, c.faults = math.Inf(1), math.Inf(-1), 0, false
	c.pieces = col.kind == kindDouble && !col.Text && ch.codec == format.Uncompressed
	if col.Text {
		c.make, c.groups, c.known = c.labels, job.GroupsDecl{}, map[string]float64{}
		c.bound(mostLabelPage)
	}
}

func (c *cursor) numbers(dst []float64, from *decoded, at int) {
	if c.inPieces {
		c.failed = c.pages.piece(arrow.Float64Traits.CastToBytes(dst))
		return
	}
	c.col.plain(dst, from.fixed[at*max(c.col.width, 1):])
}

// read decodes the next len(dst) values. Nulls and other faults are cells of
// [ingest.Fault.Cell]; without any, the values are finite.
func (c *cursor) read(dst []float64) (finite bool, err error) {
	finite = true
	for len(dst) > 0 {
		atOnce := checkedAtOnce
		if c.pieces {
			atOnce = pieceValues
		}
		n, err := c.next(dst[:min(len(dst), atOnce)])
		if err := errors.Join(err, c.failed); err != nil {
			return false, err
		}
		lo, hi, good := extent(dst[:n])
		if c.inPieces && (!good || lo < c.chunk.lo.value || hi > c.chunk.hi.value) {
			if _, err := c.pages.body(); err != nil { // damage
				return false, err
			}
			c.pages.header.Checked = false
		}
		c.lo, c.hi = min(c.lo, lo), max(c.hi, hi)
		if lo < c.chunk.lo.value || hi > c.chunk.hi.value { // false where a bound is NaN: unknown
			return false, c.contradiction(lo, hi)
		}
		if !good {
			if err := c.count(dst[:n]); err != nil {
				return false, err
			}
		}
		finite, dst = finite && good, dst[n:]
	}
	return finite, nil
}

func (c *cursor) count(values []float64) error {
	for _, v := range values {
		switch fault := ingest.FaultOf(v); {
		case fault == ingest.Mistyped && (c.col.kind == kindNarrow || c.col.kind == kindInt96):
			return errors.New("a value that its type cannot have, which other readers wrap around: the file was written wrongly; write it again")
		case fault == ingest.Null:
			c.nulls++
		default:
			c.faults = c.faults || fault != ingest.None
		}
	}
	return nil
}

// finish checks, after the last row, that the chunk has no more rows, and its statistics against the
// footer's: a contradiction shows a decoding fault, or damage that no checksum reveals.
func (c *cursor) finish() error {
	if err := c.walker.finish(); err != nil {
		return err
	}
	ch := &c.chunk
	if ch.counted && c.nulls != ch.nulls {
		return fmt.Errorf("%d nulls, but the footer's statistics say %d: the file is damaged or was written wrongly; write it again", c.nulls, ch.nulls)
	}
	if !c.faults && c.nulls != ch.rows && (!ch.lo.attained(c.lo) || !ch.hi.attained(c.hi)) {
		return c.contradiction(c.lo, c.hi)
	}
	return nil
}

func (c *cursor) contradiction(lo, hi float64) error {
	return fmt.Errorf("values from %v to %v, but the footer's statistics say %v to %v: the file is damaged or was written wrongly; write it again", lo, hi, c.chunk.lo.value, c.chunk.hi.value)
}

// attained reports whether an extreme value v agrees with the bound.
func (b bound) attained(v float64) bool {
	return math.IsNaN(b.value) || b.inexact || v == b.value
}

// mostLabelPage bounds the bytes of a page of labels, decompressed.
const mostLabelPage = 16 << 20

// mostKnown bounds the labels that a cursor remembers.
const mostKnown = 1 << 12

// labels makes the numbers of [job.Label] of texts.
func (c *cursor) labels(dst []float64, from *decoded, at int) {
	for i := range dst {
		text := from.texts[from.offsets[at+i]:from.offsets[at+i+1]]
		v, known := c.known[string(text)]
		if !known {
			v = job.Label(string(text))
			c.failed = errors.Join(c.failed, c.groups.Check(string(text), v))
			if len(c.known) == mostKnown {
				clear(c.known)
			}
			c.known[string(text)] = v
		}
		dst[i] = v
	}
}
