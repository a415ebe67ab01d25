package stream

import (
	"context"
	"errors"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A Window is rows that came one after the other in each partition of a topic, in parts.
type Window struct {
	N        int64 // which one it is of this place, where one with a larger number comes later
	Of       pipeline.TopicIdentity
	Segments []pipeline.Segment
	Firsts   map[int]int64 // offset that it begins at, by partition
	Ends     map[int]int64 // offset behind it, by partition
	Rows     pipeline.Rows
}

// Count is how many rows there are.
func (w *Window) Count() (n int64) {
	for _, g := range w.Segments {
		n += g.Rows
	}
	return n
}

// A Filling hears how a window fills, from several goroutines.
type Filling struct {
	Begins func(rows int64) func(rows int64) // see [Events]
	Early  func(w *Window)                   // what can be read before all rows are there; nil: nobody reads it
}

// Windows are those of a member's partitions.
type Windows interface {
	// Fill blocks until window n has all its rows. It begins behind another one or, with nil, at
	// the group's position, and resumes the same window of an earlier process; if the place has
	// another window, it returns [ErrOther] before it reads anything.
	Fill(ctx context.Context, n int64, behind *Window, told Filling) (*Window, error)
	// Discard removes the rows of window n.
	Discard(n int64) error
}

// ErrOther says that the place of a window has rows of another one.
var ErrOther = errors.New("it has rows of another window")

// A Log is what the members of a group publish to.
type Log interface {
	// TakeNumber takes the next number of the sequence of certificates, durably and for this call
	// alone.
	TakeNumber(ctx context.Context) (int64, error)
	// Current is what is current for the rows of this member. Nothing is [ErrNotFound].
	Current(ctx context.Context) (Pointer, error)
	// Pull reads a published artifact. A missing one is [ErrNotFound].
	Pull(ctx context.Context, id string) (Artifact, error)
	// Places are those that the rows of a window are about, as they are behind all transactions
	// that other members have open.
	Places(ctx context.Context, w *Window) ([]Place, error)
	// Publisher publishes the results of a window.
	Publisher(w *Window) Publisher
}

// A Publisher publishes what a window has given.
type Publisher interface {
	// Check fails, before training, if nothing can be published.
	Check(ctx context.Context) error
	// Publish publishes all results, what becomes of each place, and how far the topic was read;
	// without results only that. Rows that somebody else has published are [ErrOvertaken].
	Publish(ctx context.Context, all []*pipeline.Result, turns []Turn) error
}

var (
	// ErrNotFound says that nothing of the name or id was published, or not all of it.
	ErrNotFound = errors.New("not published")
	// ErrOvertaken says that somebody else has published the rows of a window. A retry does not
	// help, a later window does.
	ErrOvertaken = errors.New("another job has published these rows")
)

// A Pointer says what is current.
type Pointer struct {
	ID string                 // of the certificate
	Of pipeline.TopicIdentity // of the topic of its rows
}

// An Artifact is a certificate and its model as the bytes of their files.
type Artifact struct{ Document, Model []byte }

// Folders keep the windows of one place.
type Folders interface {
	// Left are the numbers of the windows that an earlier process has left, ascending.
	Left() ([]int64, error)
	// Folder is that of window n, which need not be there.
	Folder(n int64) Folder
	// Published reads an artifact that is still here.
	Published(ctx context.Context, id string) (Artifact, error)
}

// A Folder keeps what belongs to one window.
type Folder interface {
	// Output is where its artifact is published to.
	Output() pipeline.Output
	// Note reads what was noted under a name, nil if nothing was, and says where that is.
	Note(name string) (text []byte, where string, err error)
	// PutNote notes it, durably and whole.
	PutNote(name string, text []byte) error
	// Model decodes the model of a note; digest is the SHA-256 of its bytes. A missing one is
	// [io/fs.ErrNotExist].
	Model(name string) (m pipeline.Model, digest string, err error)
	// Done moves the folder to where it is found by the number of its certificate.
	Done(k int64) error
	// Remove removes it with all that it has.
	Remove() error
}

// A Tenure is the time in which a member has the same partitions.
type Tenure struct {
	Windows Windows
	Log     Log
	Shared  bool // others have other partitions meanwhile
}

// Events are told what a [Stream] does, by several goroutines, each at its time.
type Events interface {
	// Fills hears that a window begins to fill, with so many rows of an earlier process, and
	// returns a function that hears its rows, from several goroutines.
	Fills(rows int64) func(rows int64)
	// Filled is told that it has all its rows.
	Filled(w *Window)
	// Stepped hears of a step of an open window: its bound stays secret until it has a number.
	Stepped()
	// Tested is told what rows have said of what is current at a place, and the bound on its
	// expected loss, on average over them.
	Tested(place string, t watch.Test, bound float64)
	// Published is told what was published of a window.
	Published(w *Window, c certify.Certificate, status certify.Status)
}
