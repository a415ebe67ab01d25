package pipeline

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// Rows is where the rows of a run come from: files of a lake, a window of a topic, a
// stream. Its methods are for one goroutine at a time.
type Rows interface {
	// Open opens the rows anew, as another process would, and reads none of them. What
	// can be read only once is spooled by the first opening.
	Open(ctx context.Context, c Choice) (Opened, error)
	// Release gives back what reading has taken, once nothing is read any more. With
	// published, what was kept for another run of the same job goes too.
	Release(published bool) error
}

// ErrNoRows says that what was frozen has no row, and never will have one.
var ErrNoRows = errors.New("the window has no rows")

// A Choice says what is to be read of rows, and how. Its zero value reads all columns as
// features, and stops at the first bad row.
type Choice struct {
	Features  []string         // nil: all columns but Exclude and Target
	Exclude   []string         // of the columns, where Features is nil
	Target    string           // "": none is read
	Mark      bool             // bad rows are marked, and do not stop the reading
	Decoders  int              // goroutines that decode; 0: one
	Pages     int64            // bytes of memory for pages; 0: as many as they need
	NoDigests bool             // for rows that nobody certifies
	Spooled   func(rows int64) // is told how far a spool is; nil: nobody is
}

// Opened is a source, with what is known of it before a row is read.
type Opened interface {
	Source
	// Notices say what was left out, and why.
	Notices() []string
	// Files are the data files, in the order of their rows: nil where rows come from no
	// files that stay.
	Files() []File
	// BatchRows is the largest number of rows of a batch.
	BatchRows() int
	// Overhead is what so many readers take of memory, in bytes.
	Overhead(ctx context.Context, readers int) (int64, error)
}

// A File is what is known of a data file without reading a row.
type File struct {
	Path      string
	Bytes     int64
	Rows      int64
	RowGroups int               // with rows
	Footer    [sha256.Size]byte // SHA-256 of the footer
	Modified  time.Time
}

// SampleOf is what is known of rows as a whole before any is read.
func SampleOf(ctx context.Context, src Opened, workers int) (Sample, error) {
	s := Sample{Features: len(src.Columns()) - 1, Batch: src.BatchRows()}
	for _, shard := range src.Shards() {
		s.Rows += shard.Rows
		s.Shards++
	}
	var err error
	s.Reader, err = src.Overhead(ctx, max(1, min(workers, s.Shards)))
	return s, err
}
