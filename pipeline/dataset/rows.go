package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Rows is the origin of a run's rows: files of a lake, a window of a topic, a stream. Its
// methods are for one goroutine at a time.
type Rows interface {
	// Open opens the rows, as another process would, and reads none of them. Rows that can be
	// read only once are spooled by the first call.
	Open(ctx context.Context, c Choice) (Opened, error)
	// Release frees the resources of reading, at its end. published: it also removes what is
	// kept for another run of the same job.
	Release(published bool) error
}

// ErrNoRows says that a frozen window has no row. No retry helps.
var ErrNoRows = errors.New("the window has no rows")

// A Choice says which columns to read, and how. Its zero value reads all columns as features,
// and stops at the first rejected row.
type Choice struct {
	Features []string         // nil: all columns but those of the next three, and Target
	Exclude  []string         // other columns that are no features, if Features is nil
	Behind   []string         // columns of numbers behind the features: see [job.Job.NotAFeature]
	Labels   []string         // columns behind those, perhaps of text: see [job.UnitDecl]
	Encoded  job.Encodings    // of features, whatever their type: text is read as labels
	Texts    job.ColumnTexts  // of one of the columns behind the features
	Target   string           // "": none is read
	Mark     bool             // rejected rows are marked, and do not stop the reading
	Decoders int              // goroutines that decode; 0: one
	Pages    int64            // bytes of memory for pages; 0: as many as they need
	Spooled  func(rows int64) // gets the number of spooled rows; or nil
}

// Opened is a source, with facts known before a row is read.
type Opened interface {
	Source
	// Warnings name omitted columns and files, with reasons.
	Warnings() []string
	// Files are the data files, in the order of their rows; nil unless the rows come from
	// files that stay.
	Files() []File
	// Meanings are those of the columns; nil: the source does not state them.
	Meanings() []job.Meaning
}

// A File is a data file by its footer.
type File struct {
	Path      string
	Bytes     int64
	Rows      int64
	RowGroups int               // those with rows
	Footer    [sha256.Size]byte // SHA-256 of the footer
	Modified  time.Time
	Tag       string // ETag of an object in a store; "" of a file
}

// NamesOf are the names of columns.
func NamesOf(columns []job.Affine) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// ChoiceOf is the job's choice of columns, with these features; nil: with its own.
func ChoiceOf(j job.Job, features []string, res job.Resources) Choice {
	c := Choice{Features: features, Behind: j.NotAFeature(), Labels: j.Labels(), Encoded: j.Encode, Target: j.Target, Mark: j.Rejected.Some(), Decoders: res.Workers, Pages: res.PageMemory()}
	if len(j.Groups.Texts) > 0 {
		c.Texts = job.ColumnTexts{Column: j.Groups.Column, Texts: j.Groups.Texts}
	}
	if features == nil {
		c.Features, c.Exclude = j.Features, j.Exclude
	}
	return c
}

// OpenData opens the chosen columns of the data that a certificate is checked against.
type OpenData func(ctx context.Context, want Choice) (Source, error)
