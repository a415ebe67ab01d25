package lake

import (
	"fmt"
	"sync/atomic"
)

// Overhead looks at the first pages of the largest row groups. A hostile file may need more for
// later pages: an allowance bounds, counted as Overhead counts, what all pages take that a
// reader holds at a time.

// An allowance is the memory that the pages of a row group may need while it is read.
type allowance struct {
	most int64 // bytes; 0: as much as they need
	held atomic.Int64
}

// A share is what the cursors of a lane have of an allowance. Their pages share buffers.
type share struct {
	*allowance

	shared int64 // bytes that were taken for these
}

// take adds what is needed beside what was taken before.
func (s *share) take(bytes int64) error {
	if s == nil || s.most == 0 {
		return nil
	}
	if held := s.held.Add(max(bytes, 0)); held > s.most {
		return fmt.Errorf("its pages need %d MiB of memory to be read, and a reader has %d: give more memory, read with fewer workers, or write smaller pages", held>>20+1, s.most>>20)
	}
	return nil
}

// takePage makes room for the current page, in place of the one before.
func (c *walker[V]) takePage() error {
	if c.most > 0 && int64(c.pages.size) > c.most {
		return c.tooLarge(int64(c.pages.size))
	}
	if c.allowed == nil {
		return nil
	}
	need := c.col.pageOverhead(&c.chunk, &c.pages, c.whole)
	more := max(0, need.own-c.taken) + max(0, need.shared-c.allowed.shared)
	c.taken, c.allowed.shared = max(c.taken, need.own), max(c.allowed.shared, need.shared)
	return c.allowed.take(more)
}
