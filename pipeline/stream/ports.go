package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A Window holds consecutive rows of each partition of a topic, in segments.
type Window struct {
	pipeline.TopicWindow

	N        int64 // number of the window at this location, ascending
	Segments []dataset.Segment
	Rows     dataset.Rows
}

// Count returns the number of rows.
func (w *Window) Count() (n int64) {
	for _, g := range w.Segments {
		n += g.Rows
	}
	return n
}

// offsets returns the offsets of the window, for messages.
func (w *Window) offsets() string {
	var all []string
	for _, p := range w.Partitions {
		if p.First < p.End {
			all = append(all, fmt.Sprintf("partition %d offsets %d to %d", p.Partition, p.First, p.End-1))
		}
	}
	return strings.Join(all, ", ")
}

// after returns the group's offsets after the window, for messages.
func (w *Window) after() string {
	var all []string
	for _, p := range w.Partitions {
		all = append(all, fmt.Sprintf("the group's offset of partition %d to %d", p.Partition, p.End))
	}
	return strings.Join(all, ", ")
}

// Windows reads the windows of a member's partitions.
type Windows interface {
	// Fill blocks until window n has all its rows. The window begins at the end of behind or, if that is nil, at the
	// group's offsets. Fill resumes the same window of an earlier process. If the rows of another window are stored
	// under n, it returns [ErrOther] before it reads anything. fills is called as [Events.Fills].
	Fill(ctx context.Context, n int64, behind *Window, fills func(rows int64) func(rows int64)) (*Window, error)
	// Discard removes the rows of window n.
	Discard(n int64) error
}

// ErrOther marks a window at whose location rows of another one are stored.
var ErrOther = errors.New("it has rows of another window")

// A Log is where the members of a group publish certificates and models.
type Log interface {
	// TakeNumber reserves and returns the next number of the sequence of certificates. The reservation is durable, and
	// no other call returns the number.
	TakeNumber(ctx context.Context) (int64, error)
	// Current returns the pointer for the rows of this member, or [ErrNotFound] if there is none.
	Current(ctx context.Context) (Pointer, error)
	// Pull returns a published artifact, or [ErrNotFound].
	Pull(ctx context.Context, id string) (Artifact, error)
	// Locations returns the locations whose certificates may be replaced by that of a window, with what is current
	// there after all open transactions of other members have ended.
	Locations(ctx context.Context, w *Window) ([]Location, error)
	// Publisher returns a publisher for the result of a window.
	Publisher(w *Window) Publisher
}

// A Publisher publishes the result of a window.
type Publisher interface {
	// Check returns an error if nothing can be published. It is called before training.
	Check(ctx context.Context) error
	// Publish publishes a result, moves the pointers of the locations named in points to it, and commits the offsets
	// after the window. If r is nil, it only commits the offsets. If these rows are already published, it returns
	// [ErrOvertaken].
	Publish(ctx context.Context, r *pipeline.Result, points []string) error
}

var (
	// ErrNotFound marks a name or id under which nothing, or only a part, was published.
	ErrNotFound = errors.New("not published")
	// ErrOvertaken marks a window whose rows another process has published. A retry does not help, but later windows
	// can be published.
	ErrOvertaken = errors.New("another job has published these rows")
)

// A Location is a name on the log with one current certificate.
type Location struct {
	Name    string
	Current Pointer // zero if nothing is current
}

// A Pointer names the current certificate.
type Pointer struct {
	ID string                 // of the certificate
	Of pipeline.TopicIdentity // of the topic of its rows
}

// An Artifact holds the bytes of the files of a certificate and its model.
type Artifact struct {
	Document, Model []byte
	Signatures      [][]byte // of the certificate, if they were read with it
}

// Folders stores the windows of one location, and the results of training on them.
type Folders interface {
	// Left returns the numbers of windows that earlier processes have not finished, ascending.
	Left() ([]int64, error)
	// Folder returns the folder of window n, which need not exist yet.
	Folder(n int64) Folder
	// Output returns the output of all windows.
	Output() pipeline.Output
	// Put writes an artifact, whose hashes were checked, to the output. The caller holds the output.
	Put(ctx context.Context, out pipeline.Output, a Artifact) error
}

// A Folder stores the notes of one unfinished window.
type Folder interface {
	// Note returns the text of a note, nil if there is none. where is its location, for messages.
	Note(name string) (text []byte, where string, err error)
	// PutNote writes a note, atomically and durably.
	PutNote(name string, text []byte) error
	// Remove removes the folder with its contents.
	Remove() error
}

// Events has methods that a [Stream] calls as it proceeds, from several goroutines.
type Events interface {
	// Fills is called when a window begins to fill, with the number of its rows that an earlier process has read. It
	// returns a function that gets the number of further rows. Several goroutines call that function.
	Fills(rows int64) func(rows int64)
	// Filled is called when a window has all its rows.
	Filled(w *Window)
	// Published is called with the certificate of a window once it is published.
	Published(w *Window, c certify.Certificate, status certify.Status)
}
