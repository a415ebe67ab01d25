package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// A footer of some kilobytes can claim any number of rows, and passes through row numbers come
// before the first value is read. But few bytes can also have many rows: a column of one value
// or of nulls. So if a chunk has less than a bit a row, its page headers are checked when the
// file is opened; if a page has less than a bit a row, its runs of levels and indexes are, too.
// The number of unchecked rows is proportional to the file's size.
const (
	// fewRows is the number of rows up to which nothing is checked: passes through them are fast.
	fewRows = 1 << 17
	// rowsOfByte is the largest number of rows a byte that is not checked.
	rowsOfByte = 8
	// mostRowsOfByte bounds the rows beyond fewRows by the bytes of a file: all columns of a file
	// with more are constants.
	mostRowsOfByte = 1 << 15
)

// lookAtPages refuses columns whose pages cannot have the rows that the footer claims.
func (f *footer) lookAtPages(ctx context.Context, file io.ReaderAt) error {
	if f.rows <= fewRows {
		return nil
	}
	var c cursor
	var codec decompressor
	var stored []byte
	for col, ch := range f.chunks() {
		if col.Text || ch.rows/rowsOfByte <= ch.end-ch.start {
			continue
		}
		c.reset(file, col, ch, &codec, &stored, pageSlack)
		err := guard(func() error { return c.skim(ctx) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			col.refused = fmt.Sprintf("row group %d: %v", ch.group, err)
		}
	}
	return nil
}

// skim returns an error if the pages of the chunk cannot have its rows.
func (c *cursor) skim(ctx context.Context) error {
	for c.left/rowsOfByte > c.pages.end-c.pages.pos-int64(c.pages.size) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.nextPage()
		if errors.Is(err, io.EOF) {
			return c.endsEarly()
		}
		if err != nil {
			h := &c.pages.header
			return fmt.Errorf("page at %d claims %d values in %d bytes: %w", c.pages.pos, h.Values, h.Uncompressed, err)
		}
	}
	return nil
}

// mostRatio bounds the number of bytes that a codec can make of a stored one.
func mostRatio(codec format.CompressionCodec) int64 {
	switch codec {
	case format.Uncompressed:
		return 1
	case format.Snappy:
		return 1 << 5 // a copy of three bytes makes 64
	case format.Lz4Raw:
		return 1 << 8 // a byte of a length counts 255
	case format.Gzip:
		return 1 << 11 // a code of two bits makes 258
	case format.Zstd:
		return 1 << 16 // a block of four bytes makes 128 KiB
	default:
		return 1 << 31
	}
}

// A span is the position of a chunk's pages.
type span struct {
	start, end int64
	group      int
	column     *column
}

// refuseShared refuses columns that share bytes of the file with another one, or between row
// groups: a footer that names the same pages twice makes one row count as two.
func (f *footer) refuseShared() {
	var spans []span
	for c, ch := range f.chunks() {
		spans = append(spans, span{ch.start, ch.end, ch.group, c})
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.group, b.group))
	})
	last := 0 // of the spans so far, the one that ends last
	for i := 1; i < len(spans); i++ {
		if a, b := spans[last], spans[i]; b.start < a.end {
			a.refuse(b)
			b.refuse(a)
		}
		if spans[i].end > spans[last].end {
			last = i
		}
	}
}

// refuse refuses the span's column, which shares bytes with another span.
func (s span) refuse(other span) {
	if s.column.refused == "" {
		s.column.refused = fmt.Sprintf("row group %d: its bytes %d to %d are also those of column %q in row group %d, at %d to %d: rows would count twice; write the file again",
			s.group, s.start, s.end, other.column.Name, other.group, other.start, other.end)
	}
}
