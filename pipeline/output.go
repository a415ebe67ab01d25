package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// An Output is where a job publishes: a directory, say. One run at a time holds it, from taking
// its number to moving the pointer. Its methods are for one goroutine at a time; those that
// write need a hold.
type Output interface {
	pass.Sink
	fit.Logs
	// Hold acquires the lease of the output, and creates the output if it is missing. Holds
	// nest: release ends one; the end of the process ends all. It does not wait: while another
	// process has the lease, the error is [ErrHeld]. An output may do without: then a write of
	// what another process has written since it was read is ErrHeld.
	Hold() (release func() error, err error)
	// Numbered returns the ids of the certificates of a sequence, by number. It reads all certificates
	// of the output; a damaged one is an error.
	Numbered(ctx context.Context, name string) (map[int64]string, error)
	// GetCertificate reads a published certificate.
	GetCertificate(ctx context.Context, id string) (certify.Certificate, error)
	// PutManifest stores the manifest of a certificate.
	PutManifest(m Manifest) error
	// GetManifest reads the manifest of a certificate, which must be about its sample.
	GetManifest(c certify.Certificate, id string) (Manifest, error)
	// Checkpoint keeps the checkpoint of a job, by its digest.
	Checkpoint(job job.Digest) fit.Checkpoints
	// Warnings are remarks about the output, such as checkpoints of other jobs than these.
	Warnings(jobs []job.Digest) ([]string, error)

	// The records of runs, from their beginning.

	// PutRun stores or replaces the record of a run, durably.
	PutRun(r *RunState) error
	// Runs iterates over the records, the newest first, and reads each as it comes. Unreadable
	// ones are left out.
	Runs() (iter.Seq[*RunState], error)
	// Retain removes all runs older than the last keep finished ones, with their artifacts. It
	// keeps the current artifact, those of kept runs, and the record of the newest numbered run
	// of each sequence.
	Retain(keep int) error

	// The pointer says which certified model is current.

	// Current is the pointer, nil if it is not set. A damaged one is an error.
	Current() (*Current, error)
	// Point moves the pointer atomically, to an artifact that is complete in the output.
	Point(to Current) error

	// Notes are the states of services that run jobs in the output, each a small document.

	// Note is a document, nil if there is none, and where it is, for messages.
	Note(name string) (text []byte, where string, err error)
	// PutNote replaces a document as a whole, durably.
	PutNote(name string, text []byte) error

	// The training state to a pass in parts.

	// PutTrainingState stores a training state, over another one, with its model, which the sink has; that of
	// a first pass has none.
	PutTrainingState(ctx context.Context, h *pass.TrainingState) error
	// DropTrainingState removes it, if there is one.
	DropTrainingState() error
}

// ErrHeld says that another process holds the output. A later retry may succeed.
var ErrHeld = errors.New("in use by another process")

// Holding calls do and holds an output meanwhile.
func Holding[T any](out Output, do func() (T, error)) (v T, err error) {
	release, err := out.Hold()
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, release()) }()
	return do()
}

// Current is the content of a pointer.
type Current struct {
	ArtifactRef

	Predictor certify.Predictor // that the bound is of
	Bound     float64
	Status    certify.Status // of the guarantee with the bound; "" in a pointer of an earlier release
	Since     time.Time
}

// An ArtifactRef names a certificate and its model by their content.
type ArtifactRef struct {
	ID    string `json:"id"`    // of the certificate
	Model string `json:"model"` // SHA-256
}

// A RunState is the record of a run, from its beginning.
type RunState struct {
	Format    string        `json:"format"`
	Run       string        `json:"run"`
	State     State         `json:"state"`
	Job       string        `json:"job"` // digest of the configuration
	Began     time.Time     `json:"began"`
	Ended     *time.Time    `json:"ended,omitempty"`
	Exit      *int          `json:"exit_status,omitempty"` // once it is finished
	Fault     string        `json:"fault,omitempty"`       // why it failed, or finished with another status than 0
	Artifacts []ArtifactRef `json:"artifacts"`             // published, the best first
	Record    *RunRecord    `json:"record,omitempty"`      // of a finished run
	Scheduled *Scheduled    `json:"scheduled,omitempty"`   // of a run of a schedule
}

// Promoted is the id of the certificate that was current at the end of the run by its doing, "" if
// it has moved no pointer.
func (r *RunState) Promoted() string {
	switch of := r.Scheduled; {
	case of != nil && !of.Current:
		return ""
	case len(r.Artifacts) > 0 && (of != nil || r.State == StateFinished && r.Exit != nil && *r.Exit == 0):
		return r.Artifacts[0].ID
	default:
		return ""
	}
}

// Reason says why the run ended as it did, "" without a reason.
func (r *RunState) Reason() string {
	fault := strings.TrimPrefix(r.Fault, "finished, but ") // which is its state
	if r.Scheduled == nil || r.Scheduled.Why == "" {
		return fault
	}
	return strings.TrimSuffix(r.Scheduled.Why+": "+fault, ": ")
}

// Scheduled is a scheduler's part of a run's record.
type Scheduled struct {
	Job      string                 `json:"job"`    // name, and that of its sequence
	Number   uint64                 `json:"number"` // among the runs of the job
	Trigger  string                 `json:"trigger"`
	Moment   time.Time              `json:"moment"` // when it was due
	Try      int                    `json:"try"`
	Kills    int                    `json:"kills,omitempty"`    // of this try that ended with their scheduler
	Sequence int64                  `json:"sequence,omitempty"` // number in the sequence
	Files    []dataset.ManifestFile `json:"files"`
	Replaced []string               `json:"replaced,omitempty"` // paths of files that were written again since the run before
	Future   []string               `json:"future,omitempty"`   // paths of files left out because they were written after the clock's time
	Window   *TopicWindow           `json:"window,omitempty"`   // of a topic
	Current  bool                   `json:"current"`            // its certificate has become current
	Kept     bool                   `json:"kept,omitempty"`     // it might have, and the rule has kept the one before
	Why      string                 `json:"why,omitempty"`      // the reason for Current, or against it
	Due      *time.Time             `json:"due,omitempty"`      // the next retry, or moment of the job; nil: triggers without a clock decide
}

// Rewritten says which files were written again, "" without one.
func (s *Scheduled) Rewritten() string {
	return named(s.Replaced, "written again since the run before, with other rows")
}

// Postdated says which files are dated after the run, "" without one.
func (s *Scheduled) Postdated() string {
	return named(s.Future, "dated after now and left out")
}

// named says what is so with some files, and names a few.
func named(files []string, what string) string {
	const most = 3
	if len(files) == 0 {
		return ""
	}
	text := words.Count(len(files), "file") + " " + what + ": " + strings.Join(files[:min(most, len(files))], ", ")
	if more := len(files) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// A State is the state of a run.
type State string

// States of a run.
const (
	StateRunning     State = "running"
	StateFailed      State = "failed"
	StateFinished    State = "finished"
	StateInterrupted State = "interrupted" // a scheduled one, by the end of its scheduler
	StateNothing     State = "nothing"     // a scheduled one without a new row
)

// RunStateFormat is the format of the records of runs.
const RunStateFormat = "pacsgp-run-state/1"

// BeginRun records the beginning of a run, after all others. The caller holds the output. of is nil
// without a schedule.
func BeginRun(out Output, run string, job job.Job, now time.Time, of *Scheduled) (*RunState, error) {
	r, err := NewRun(out, run, job, now, of)
	if err != nil {
		return nil, err
	}
	return r, out.PutRun(r)
}

// NewRun is [BeginRun] without writing the record. It closes the record of a killed run: the caller
// holds the output, so that no other run is at work.
func NewRun(out Output, run string, job job.Job, now time.Time, of *Scheduled) (*RunState, error) {
	identity, err := job.Digest()
	if err != nil {
		return nil, err
	}
	all, err := out.Runs()
	if err != nil {
		return nil, err
	}
	for r := range all { // the newest: an older one was closed before it
		if r.State == StateRunning {
			if err := r.End(out, StateFailed, nil, "it was killed, or could not write its end", now); err != nil {
				return nil, err
			}
		}
		if !now.After(r.Began) { // the clock was set back
			now = r.Began.Add(time.Nanosecond)
		}
		break
	}
	return &RunState{Format: RunStateFormat, Run: run, State: StateRunning, Job: identity.String(), Began: now.UTC(), Artifacts: []ArtifactRef{}, Scheduled: of}, nil
}

// End closes a record: with the exit status of a finished run, or with the fault of one
// that failed.
func (r *RunState) End(out Output, s State, exit *int, fault string, now time.Time) error {
	r.State, r.Exit, r.Fault, r.Ended = s, exit, fault, nil
	return r.close(out, now)
}

// close writes the end of a record, whose time now is unless it has one. If it cannot be written the
// record has no end.
func (r *RunState) close(out Output, now time.Time) error {
	if now = now.UTC(); r.Ended == nil {
		r.Ended = &now
	}
	err := out.PutRun(r)
	if err != nil {
		r.Ended = nil
	}
	return err
}

// PointTo moves the pointer of an output to one of its artifacts, unless it is there
// already.
func PointTo(out Output, c certify.Certificate, a ArtifactRef, who certify.Predictor, now time.Time) error {
	if old, err := out.Current(); err == nil && old != nil && old.ID == a.ID && old.Predictor == who {
		return nil
	}
	return out.Point(Current{ArtifactRef: a, Predictor: who, Bound: c.About(who).Bound, Status: c.About(who).Status, Since: now.UTC().Truncate(time.Millisecond)})
}
