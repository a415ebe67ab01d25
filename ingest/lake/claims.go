package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// lookAtPages refuses columns whose pages cannot have the rows that the footer claims.
func (f *footer) lookAtPages(ctx context.Context, file io.ReaderAt) error {
	if f.rows <= fewRows {
		return nil
	}
	var c cursor
	var l lane
	for col, ch := range f.chunks() {
		if col.Text || ch.rows/rowsOfByte <= ch.end-ch.start {
			continue
		}
		c.reset(file, col, ch, &l, pageSlack)
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
