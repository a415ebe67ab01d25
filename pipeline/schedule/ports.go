package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A Job is a job of a schedule. Its rows come from a lake or from a topic.
type Job struct {
	Name     string  // also of its sequence
	Job      job.Job // one that is repeated, without a number
	Output   pipeline.Output
	Lake     Lake  // or nil
	Topic    Topic // or nil
	Triggers []Trigger
	Files    Files
	Retries  int           // of a failed run
	Backoff  time.Duration // before the first retry, and twice as long before each further one
	Promote  watch.Promotion

	How      pipeline.RunConfig // the scheduler sets Run, Begun, Certified and Conclude
	Software string             // on which the bytes of a certificate depend, next to job and rows
	// Elsewhere says that certificates are also published outside the output, which then does
	// not show the result of a run.
	Elsewhere bool

	checked time.Time // by this process, last
	said    string    // the fault of the last look, which is reported once
}

// A Trigger says when a job is due: at moments, or after so many new rows, files or offsets.
type Trigger struct {
	Key     string  // its name in records: a changed trigger begins again
	Moments Moments // or nil
	Rows    int64
	Files   int64
	Offsets int64
}

// Which says which files a run has.
type Which string

// All files, those new to all finished runs, or those of the last days.
const (
	FilesAll  Which = "all"
	FilesNew  Which = "new"
	FilesLast Which = "last"
)

// Files says which files a run has.
type Files struct {
	Which Which
	Last  time.Duration // with [FilesLast]
	Key   string        // of paths; its values are dates
}

// A Lake is the files of a job.
type Lake interface {
	// Files lists them now, with their footers.
	Files(ctx context.Context) ([]File, error)
	// Rows are those of some files, in this order.
	Rows(files []File) dataset.Rows
}

// A File is a file of a lake, as in a manifest, and its location.
type File struct {
	dataset.ManifestFile
	Where string
}

// A Topic is a log that a job cuts into windows.
type Topic interface {
	Name() string
	// Next is the window of a run that begins now, behind the windows before, or nil. It waits
	// for brokers as long as patience, or with 0 as long as the job says; without an answer it
	// returns [ErrAway]. Windows of another topic are an error.
	Next(ctx context.Context, before *pipeline.Windows, patience time.Duration) (pipeline.TopicWindow, error)
	// AtLatest reports whether the first window begins at the end of the topic at the first look.
	AtLatest() bool
	// Digest identifies a window and the reading of its records.
	Digest(w pipeline.TopicWindow) string
	// Rows are those of a frozen window.
	Rows(w pipeline.TopicWindow) dataset.Rows
	// Discard removes the spool of a window.
	Discard(w pipeline.TopicWindow) error
}

// ErrAway says that brokers do not answer now.
var ErrAway = errors.New("it does not answer")

// A Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}
