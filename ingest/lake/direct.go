package lake

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow/endian"
	"github.com/parquet-go/parquet-go/format"
)

// Doubles that a page stores as they are go directly from the file to where they
// belong, in pieces that are looked at while they are in the second cache. The page
// is never in memory as a whole: those of all columns together would not fit into
// the caches. So its checksum is compared after its last piece, or at once if a piece
// has values that damage may have made: earlier batches of a damaged page may have
// been handed out by then, and the shard ends in an error.
//
// A map of the file would save a tenth at most, and only if it is of many MiB at a
// time, which count as memory of the process.

// directAtOnce is how many values a piece has: more than checkedAtOnce, for each
// piece costs a system call. Pages with less are read whole, with their header.
const directAtOnce = 8192

// isDirect reports whether the values of the current data page are read directly.
func (c *cursor) isDirect(e format.Encoding) bool {
	h := &c.pages.header
	return c.chunk.codec == format.Uncompressed && c.col.kind == kindDouble && e == format.Plain && c.rows >= directAtOnce &&
		h.uncompressed == h.compressed && !endian.IsBigEndian
}

// direct starts a data page of version 1.
func (c *cursor) direct() error {
	c.leveled = c.col.optional
	if !c.leveled {
		return c.startDirect(0)
	}
	var n [4]byte
	if err := c.pages.take(n[:]); err != nil {
		return err
	}
	return c.startDirect(int64(binary.LittleEndian.Uint32(n[:])))
}

// direct2 starts a data page of version 2 with so many bytes of definition levels.
func (c *cursor) direct2(definition int32) error {
	c.leveled = c.col.optional && definition > 0
	return c.startDirect(int64(definition))
}

// startDirect reads n bytes of definition levels, behind which the values stand.
func (c *cursor) startDirect(n int64) error {
	if n < 0 || n > int64(c.pages.size-c.pages.taken) {
		return fmt.Errorf("definition levels of %d bytes in a page of %d: %w", n, c.pages.size, errMalformed)
	}
	levels := grow(&c.own, int(n))
	if err := c.pages.take(levels); err != nil {
		return err
	}
	c.levels.reset(levels, 1)
	err := c.values.reset(c.col, format.Plain, nil, nil, nil)
	c.values.pages = &c.pages
	return err
}
