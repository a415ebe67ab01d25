package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A Window is consecutive rows of each partition of a topic, in segments.
type Window struct {
	N        int64 // its number at this location, in the order of windows
	Of       pipeline.TopicIdentity
	Segments []dataset.Segment
	Firsts   map[int]int64 // offset that it begins at, by partition
	Ends     map[int]int64 // offset behind it, by partition
	Rows     dataset.Rows
}

// Count is the number of rows.
func (w *Window) Count() (n int64) {
	for _, g := range w.Segments {
		n += g.Rows
	}
	return n
}

// offsets names the offsets.
func (w *Window) offsets() string {
	var all []string
	for _, p := range slices.Sorted(maps.Keys(w.Firsts)) {
		if w.Firsts[p] < w.Ends[p] {
			all = append(all, fmt.Sprintf("partition %d offsets %d to %d", p, w.Firsts[p], w.Ends[p]-1))
		}
	}
	return strings.Join(all, ", ")
}

// after names the group's offsets behind it.
func (w *Window) after() string {
	var all []string
	for _, p := range slices.Sorted(maps.Keys(w.Ends)) {
		all = append(all, fmt.Sprintf("the group's offset of partition %d to %d", p, w.Ends[p]))
	}
	return strings.Join(all, ", ")
}

// Windows are the windows of a member's partitions.
type Windows interface {
	// Fill blocks until window n has all its rows. The window begins behind another one or, with
	// nil, at the group's location. Fill resumes the same window of an earlier process; if the
	// location has another window, it returns [ErrOther] before it reads anything. It tells fills as
	// [Events] has it.
	Fill(ctx context.Context, n int64, behind *Window, fills func(rows int64) func(rows int64)) (*Window, error)
	// Discard removes the rows of window n.
	Discard(n int64) error
}

// ErrOther says that the location of a window has rows of another one.
var ErrOther = errors.New("it has rows of another window")

// A Log is what the members of a group publish to.
type Log interface {
	// TakeNumber takes the next number of the sequence of certificates, durably and for this call
	// alone.
	TakeNumber(ctx context.Context) (int64, error)
	// Current is the pointer for the rows of this member. Without one it returns [ErrNotFound].
	Current(ctx context.Context) (Pointer, error)
	// Pull reads a published artifact. A missing one is [ErrNotFound].
	Pull(ctx context.Context, id string) (Artifact, error)
	// Locations are those that the rows of a window are about, after the open transactions of all
	// other members.
	Locations(ctx context.Context, w *Window) ([]Location, error)
	// Publisher publishes the result of a window.
	Publisher(w *Window) Publisher
}

// A Publisher publishes the result of a window.
type Publisher interface {
	// Check fails, before training, if nothing can be published.
	Check(ctx context.Context) error
	// Publish publishes a result, points these names to it, and commits the offsets behind the
	// window; without a result only the offsets. If somebody else has published these rows, it
	// returns [ErrOvertaken].
	Publish(ctx context.Context, r *pipeline.Result, points []string) error
}

var (
	// ErrNotFound says that nothing of the name or id was published, or only a part.
	ErrNotFound = errors.New("not published")
	// ErrOvertaken says that somebody else has published the rows of a window. A retry does not
	// help; a later window can be published.
	ErrOvertaken = errors.New("another job has published these rows")
)

// A Location has one current certificate.
type Location struct {
	Name    string
	Current Pointer // zero if nothing is current
}

// A Pointer names the current certificate.
type Pointer struct {
	ID string                 // of the certificate
	Of pipeline.TopicIdentity // of the topic of its rows
}

// An Artifact is a certificate and its model as the bytes of their files.
type Artifact struct {
	Document, Model []byte
	Signatures      [][]byte // of the certificate, where they were read with it
}

// Folders keep the windows of one location, and what is made of them.
type Folders interface {
	// Left are the numbers of unfinished windows of earlier processes, ascending.
	Left() ([]int64, error)
	// Folder is the folder of window n, which need not exist.
	Folder(n int64) Folder
	// Output is where all windows are published to, with the log of window n.
	Output(n int64) pipeline.Output
	// Put puts an artifact into the output, which is held. Its hashes are checked.
	Put(ctx context.Context, out pipeline.Output, a Artifact) error
}

// A Folder keeps what belongs to one unfinished window.
type Folder interface {
	// Note reads a note, nil if there is none; where is its location for messages.
	Note(name string) (text []byte, where string, err error)
	// PutNote writes a note, durably and whole.
	PutNote(name string, text []byte) error
	// Remove removes it with its contents.
	Remove() error
}

// Events receive what a [Stream] does. Several goroutines call them.
type Events interface {
	// Fills is called when a window begins to fill, with how many rows an earlier process has read.
	// It returns a function that receives further rows, by several goroutines.
	Fills(rows int64) func(rows int64)
	// Filled is called when a window has all its rows.
	Filled(w *Window)
	// Published receives the certificate of a window.
	Published(w *Window, c certify.Certificate, status certify.Status)
}
