package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A Job is a job of a schedule. Its rows come from a lake or from a topic.
type Job struct {
	Name     string       // and that of its sequence
	Job      pipeline.Job // under [certify.DeltaSequence], without a number
	Output   pipeline.Output
	Lake     Lake  // or nil
	Topic    Topic // or nil
	Triggers []Trigger
	Files    Files
	Skip     bool          // moments that were missed are not made up for
	Jitter   time.Duration // moments are delayed by up to this, each always by the same time
	Retries  int           // of a run that has failed
	Backoff  time.Duration // before the first retry; twice as long before each further one
	Promote  Promotion

	Judge    pipeline.Judge     // "": the mean
	How      pipeline.RunConfig // but for what the scheduler says
	Software string             // names what the bytes of a certificate depend on, beside job and rows
	// Elsewhere says that certificates are published beside the output too, so that the output
	// alone does not tell what a run came to.
	Elsewhere bool
}

// A Trigger says when a job is due: at moments, or when there is so much that no run has taken.
type Trigger struct {
	Key     string  // names it in records: one that is changed begins anew
	Moments Moments // or nil
	Rows    int64
	Files   int64
	Offsets int64
}

// Which files a run takes.
type Which string

// All files, those that no finished run has taken, or those of the last days.
const (
	FilesAll  Which = "all"
	FilesNew  Which = "new"
	FilesLast Which = "last"
)

// Files says which files a run takes.
type Files struct {
	Which  Which
	Last   time.Duration // with [FilesLast]
	Key    string        // of paths, whose value is a date
	Column string        // or a column of seconds since 1970, by the footers
}

// A Lake is the files of a job.
type Lake interface {
	// Files lists them as they are now, by their footers.
	Files(ctx context.Context) ([]File, error)
	// Rows are those of some of the files, in this order.
	Rows(files []File) pipeline.Rows
	// Most is the largest value of a column that the footer of a file tells.
	Most(ctx context.Context, f File, column string) (float64, error)
}

// A File is one of a lake: as a manifest describes it, and where it is.
type File struct {
	pipeline.ManifestFile
	Where string
}

// A Topic is the log that a job's windows are of.
type Topic interface {
	// Name is that of the topic.
	Name() string
	// Ahead is the window that a run would have now, behind those before; nil: there are none.
	// It asks brokers for as long as patience says; 0: as the job says. Another topic than that
	// of the windows before is an error. That brokers do not answer is [ErrAway].
	Ahead(ctx context.Context, before *pipeline.Windows, patience time.Duration) (pipeline.TopicWindow, error)
	// AtLatest reports whether the first window begins at what is the end of the topic when
	// the job is first seen.
	AtLatest() bool
	// Digest names a window and how its records are read.
	Digest(w pipeline.TopicWindow) string
	// Rows are those of a frozen window.
	Rows(w pipeline.TopicWindow) pipeline.Rows
	// Leave removes what is kept of a window that nobody goes on with.
	Leave(w pipeline.TopicWindow) error
}

// ErrAway says that nobody answers for the moment.
var ErrAway = errors.New("it does not answer")

// A Record keeps what a scheduler knows of its jobs. One scheduler at a time has it.
type Record interface {
	// Job is what is known of a job; of one that is not known: an empty state.
	Job(name string) (*State, error)
	// PutJob replaces it, durably.
	PutJob(name string, s *State) error
}

// A Clock tells the time, and when so much of it is over.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// A State is what is known of a job between its runs, beside what its output tells.
type State struct {
	Last    map[string]time.Time `json:"last"`           // moment that was dealt with last, by trigger
	Open    string               `json:"open,omitempty"` // the run that has begun and is not dealt with; "": none
	Retry   *Retry               `json:"retry,omitempty"`
	Done    string               `json:"done,omitempty"`    // digest of what the run that finished last took
	Waiting string               `json:"waiting,omitempty"` // id of a certificate that waits for rows to be compared on

	Unchosen  int       `json:"unchosen,omitempty"`    // runs in a row whose files, or window, could not be chosen
	NotBefore time.Time `json:"not_before,omitzero"`   // rows, files and offsets are not counted again
	Fault     string    `json:"fault,omitempty"`       // why
	Taken     []string  `json:"taken_files,omitempty"` // keys of files that finished runs have taken
}

// A Retry is a run that is to be tried again.
type Retry struct {
	At      time.Time `json:"at"`
	Tries   int       `json:"tries"` // that have failed
	Kills   int       `json:"kills,omitempty"`
	Trigger string    `json:"trigger"`
	Moment  time.Time `json:"moment"`
}
