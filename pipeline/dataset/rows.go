package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Rows is where a run's rows come from: files of a lake, a window of a topic, a stream. Only one goroutine at a time
// may call its methods.
type Rows interface {
	// Open opens the rows as another process would: it keeps nothing from earlier calls. It reads no rows, except
	// that the first call spools rows that can be read only once.
	Open(ctx context.Context, c Choice) (Opened, error)
	// Release frees the resources of reading. If published is true, it also removes what is kept for another run of
	// the same job.
	Release(published bool) error
}

// ErrNoRows marks a frozen window without rows. A retry does not help.
var ErrNoRows = errors.New("the window has no rows")

// A Choice says which columns to read, and how. Its zero value reads all columns as features,
// and stops at the first rejected row.
type Choice struct {
	Features []string         // nil means all columns except those of the next three fields and Target
	Exclude  []string         // columns that are no features, if Features is nil
	Behind   []string         // columns of numbers after the features: [job.Job.NotAFeature]
	Labels   []string         // columns after those, which may be text: [job.Job.Labels]
	Encoded  job.Encodings    // of features, which may have any type; text is read as [job.Label]
	Groups   job.GroupsDecl   // if they are texts, their column is one of text
	Target   string           // "" means that no target is read
	Mark     bool             // mark rejected rows instead of stopping at the first
	Decoders int              // goroutines that decode; default 1
	Pages    int64            // bytes of memory for pages; 0 means no limit
	Spooled  func(rows int64) // if not nil, is called with the number of rows spooled so far
}

// Opened is a source with facts that are known before rows are read.
type Opened interface {
	Source
	// Warnings returns texts that name omitted columns and files, with reasons.
	Warnings() []string
	// Files returns the data files in the order of their rows, or nil if the rows do not come from files that last.
	Files() []File
	// Meanings returns the meaning of each column, or nil if the source does not state them.
	Meanings() []job.Meaning
}

// A File describes a data file.
type File struct {
	Path      string
	Bytes     int64
	Rows      int64
	RowGroups int               // without empty ones
	Footer    [sha256.Size]byte // SHA-256 of the footer
	Modified  time.Time
	Tag       string // ETag of an object in a store; "" for a file
}

// NamesOf returns the names of columns.
func NamesOf(columns []job.Affine) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// ChoiceOf returns the columns that the job reads, with these features, or with its own if features is nil.
func ChoiceOf(j job.Job, features []string, res job.Resources) Choice {
	c := Choice{Features: features, Behind: j.NotAFeature(), Labels: j.Labels(), Encoded: j.Encode, Groups: j.Groups, Target: j.Target, Mark: j.Rejected.Some(), Decoders: res.Workers, Pages: res.PageMemory()}
	if features == nil {
		c.Features, c.Exclude = j.Features, j.Exclude
	}
	return c
}

// OpenData opens the chosen columns of the data that a certificate is checked against.
type OpenData func(ctx context.Context, want Choice) (Source, error)
