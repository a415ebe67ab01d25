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
	Name     string  // also the name of its sequence
	Job      job.Job // of a sequence, without a number
	Output   pipeline.Output
	Lake     Lake  // nil if the rows are from a topic
	Topic    Topic // nil if the rows are from a lake
	Triggers []Trigger
	Files    Files
	Retries  int           // of a failed run
	Backoff  time.Duration // pause before the first retry; it doubles for each further one
	Promote  watch.Promotion

	How      pipeline.RunConfig // the scheduler sets Run, Begun, Certified and Conclude
	Software string             // version of the program, on which the bytes of certificates depend
	// Elsewhere is true if certificates are also published outside the output, so that a certificate in the output does
	// not show that its run has succeeded.
	Elsewhere bool

	checked  time.Time // when this process last checked the job
	said     string    // the fault of the last check, which is reported once
	reserved int64     // the last number that this process has seen or reserved
}

// A Trigger says when a job is due: at moments, or after a number of new rows, files or offsets.
type Trigger struct {
	Key     string  // name in records; a trigger with a new key has no last moment
	Moments Moments // may be nil
	Rows    int64
	Files   int64
	Offsets int64
}

// Which says which files a run has.
type Which string

// The choices of files: all, those that no finished run has used, or those of the last days.
const (
	FilesAll  Which = "all"
	FilesNew  Which = "new"
	FilesLast Which = "last"
)

// Files says which files a run has.
type Files struct {
	Which Which
	Last  time.Duration // the age of the oldest files, with [FilesLast]
	Key   string        // the key of paths whose values are dates, with [FilesLast]
}

// A Lake lists and reads the files of a job.
type Lake interface {
	// Files returns the files that are there now, with their footers.
	Files(ctx context.Context) ([]File, error)
	// Rows returns the rows of files, in this order.
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
	// Next returns the window of a run that begins now. It begins at the end of the windows before, which may be nil and
	// must be of this topic. Next waits for brokers as long as patience, or with 0 as long as the job says, and then
	// returns [ErrAway].
	Next(ctx context.Context, before *pipeline.Windows, patience time.Duration) (pipeline.TopicWindow, error)
	// AtLatest reports whether the first window begins where the topic ended when the job was first seen.
	AtLatest() bool
	// Digest returns a digest of a window and of how its records are read.
	Digest(w pipeline.TopicWindow) string
	// Rows returns the rows of a frozen window.
	Rows(w pipeline.TopicWindow) dataset.Rows
	// Discard removes the spooled rows of a window.
	Discard(w pipeline.TopicWindow) error
}

// ErrAway means that the brokers do not answer at the moment.
var ErrAway = errors.New("it does not answer")

// A Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}
