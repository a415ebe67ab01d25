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
	// Open opens the rows, as another process would, and reads none of them. Rows that can be
	// read only once are spooled by the first opening.
	Open(ctx context.Context, c Choice) (Opened, error)
	// Release frees the resources of reading at its end and, with published, what is kept for
	// another run of the same job.
	Release(published bool) error
}

// ErrNoRows says that a frozen window has no row, for ever.
var ErrNoRows = errors.New("the window has no rows")

// A Choice says which columns to read, and how. Its zero value reads all columns as features,
// and stops at the first bad row.
type Choice struct {
	Features  []string         // nil: all columns but Exclude and Target
	Exclude   []string         // of the columns, where Features is nil
	Target    string           // "": none is read
	Mark      bool             // bad rows are marked, and do not stop the reading
	Decoders  int              // goroutines that decode; 0: one
	Pages     int64            // bytes of memory for pages; 0: as many as they need
	NoDigests bool             // for rows without a certificate
	Spooled   func(rows int64) // gets the number of spooled rows; or nil
}

// Opened is a source, with facts known before a row is read.
type Opened interface {
	Source
	// Notices name omissions, with reasons.
	Notices() []string
	// Files are the data files, in the order of their rows: nil where rows come from no
	// files that stay.
	Files() []File
	// BatchRows is the largest number of rows of a batch.
	BatchRows() int
	// Overhead is the memory of so many readers, in bytes.
	Overhead(ctx context.Context, readers int) (int64, error)
}

// A File is a data file by its footer.
type File struct {
	Path      string
	Bytes     int64
	Rows      int64
	RowGroups int               // with rows
	Footer    [sha256.Size]byte // SHA-256 of the footer
	Modified  time.Time
}

// SampleOf describes rows as a whole before any is read.
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
