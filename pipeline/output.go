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

// An Output is where a job publishes, for example a directory. One run at a time holds it, from the reservation of its
// number until the pointer has moved. Only one goroutine at a time may call its methods, and methods that write need a
// hold.
type Output interface {
	pass.Sink
	fit.Logs
	// Hold acquires the lease of the output, and creates the output if it is missing. It does not wait: while another
	// process has the lease, it returns [ErrHeld]. Holds nest: release ends one, and the end of the process ends all. An
	// output without leases instead returns ErrHeld from a write of something that another process has written since it
	// was read.
	Hold() (release func() error, err error)
	// Numbered returns the ids of the certificates of a sequence, by number. It reads all certificates of the output, and
	// returns an error for a damaged one.
	Numbered(ctx context.Context, name string) (map[int64]string, error)
	// GetCertificate reads a published certificate.
	GetCertificate(ctx context.Context, id string) (certify.Certificate, error)
	// PutManifest stores the manifest of a certificate.
	PutManifest(m Manifest) error
	// GetManifest reads the manifest of a certificate, and checks it by [Manifest.Check].
	GetManifest(c certify.Certificate, id string) (Manifest, error)
	// Checkpoint returns where the checkpoint of the job with this digest is stored.
	Checkpoint(job job.Digest) fit.Checkpoints
	// Warnings returns warnings about the output, for example about checkpoints of jobs other than these.
	Warnings(jobs []job.Digest) ([]string, error)

	// The records of runs, from their beginning.

	// PutRun stores or replaces the record of a run, durably.
	PutRun(r *RunState) error
	// Runs returns a sequence of the records, the newest first, which reads each record when it is needed. Unreadable
	// ones are left out.
	Runs() (iter.Seq[*RunState], error)
	// Retain removes all runs that are older than the last keep finished ones, with their artifacts. It does not remove
	// the current artifact, artifacts of remaining runs, or the record of the newest numbered run of a sequence.
	Retain(keep int) error

	// The pointer says which certified model is current.

	// Current returns the pointer, or nil if it is not set. A damaged pointer is an error.
	Current() (*Current, error)
	// Point moves the pointer atomically, to an artifact that is complete in the output.
	Point(to Current) error

	// Notes are the states of services that run jobs in the output, each a small document.

	// Note returns a document, nil if there is none. where is its location, for messages.
	Note(name string) (text []byte, where string, err error)
	// PutNote replaces a document, atomically and durably.
	PutNote(name string, text []byte) error

	// The training state is for a pass in parts.

	// PutTrainingState replaces the training state. With that of a last pass it stores the model, which the sink has.
	PutTrainingState(ctx context.Context, h *pass.TrainingState) error
	// DropTrainingState removes the training state, if there is one.
	DropTrainingState() error
}

// ErrHeld means that another process holds the output. A later retry may succeed.
var ErrHeld = errors.New("in use by another process")

// Holding holds an output while it calls do, and returns what do returns.
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
	Verdict // without a status in a pointer of an earlier release

	Predictor certify.Predictor // that the verdict is about
	Since     time.Time         // when the pointer moved
	Source    TopicIdentity     // of the topic of the rows, if a topic has the pointer
}

// An ArtifactRef names a certificate and its model by their content.
type ArtifactRef struct {
	ID    string `json:"id"`    // of the certificate
	Model string `json:"model"` // SHA-256 of the model's bytes
}

// A RunState is the record of a run. It is written when the run begins, and again when the run ends.
type RunState struct {
	Format    string        `json:"format"`
	Run       string        `json:"run"`
	State     State         `json:"state"`
	Job       string        `json:"job"` // digest of the configuration
	Began     time.Time     `json:"began"`
	Ended     *time.Time    `json:"ended,omitempty"`
	Exit      *int          `json:"exit_status,omitempty"` // set once the run is finished
	Fault     string        `json:"fault,omitempty"`       // why the run failed, or finished with an exit status other than 0
	Artifacts []ArtifactRef `json:"artifacts"`             // published artifacts, the best first
	Record    *RunRecord    `json:"record,omitempty"`      // of a finished run
	Scheduled *Scheduled    `json:"scheduled,omitempty"`   // of a run of a schedule
}

// Promoted returns the id of the certificate that became current by this run, or "" if none did.
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

// Reason returns why the run ended as it did, or "" if no reason is recorded.
func (r *RunState) Reason() string {
	fault := strings.TrimPrefix(r.Fault, "finished, but ") // the state says so already
	if r.Scheduled == nil || r.Scheduled.Why == "" {
		return fault
	}
	return strings.TrimSuffix(r.Scheduled.Why+": "+fault, ": ")
}

// Scheduled is a scheduler's part of a run's record.
type Scheduled struct {
	Job      string                 `json:"job"`    // name of the job and of its sequence
	Number   uint64                 `json:"number"` // among the runs of the job
	Trigger  string                 `json:"trigger"`
	Moment   time.Time              `json:"moment"` // when the run was due
	Try      int                    `json:"try"`
	Kills    int                    `json:"kills,omitempty"`    // how many times in a row this try has ended without a record
	Sequence int64                  `json:"sequence,omitempty"` // number in the sequence
	Files    []dataset.ManifestFile `json:"files"`
	Replaced []string               `json:"replaced,omitempty"` // paths of files that were written again since the run before
	Future   []string               `json:"future,omitempty"`   // paths of files left out because they were written after the clock's time
	Window   *TopicWindow           `json:"window,omitempty"`   // of a topic
	Current  bool                   `json:"current"`            // whether its certificate has become current
	Kept     bool                   `json:"kept,omitempty"`     // whether the rule of promotion has preferred the certificate before
	Why      string                 `json:"why,omitempty"`      // why the certificate became current, or why it did not
	Due      *time.Time             `json:"due,omitempty"`      // time of the next retry or run; nil if it depends on new data only
}

// Rewritten returns a text about the files that were written again, or "" if there are none.
func (s *Scheduled) Rewritten() string {
	return named(s.Replaced, "written again since the run before, with other rows")
}

// Postdated returns a text about the files that are dated after the run, or "" if there are none.
func (s *Scheduled) Postdated() string {
	return named(s.Future, "dated after now and left out")
}

// named returns a text that says what applies to files and names a few of them, or "" if there are none.
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
	StateInterrupted State = "interrupted" // a scheduled run whose scheduler was stopped, or whose output or rows another process used
	StateNothing     State = "nothing"     // a scheduled run without new rows
)

// RunStateFormat is the format of the records of runs.
const RunStateFormat = "pacsgp-run-state/1"

// BeginRun records the beginning of a run, with a time after that of all other runs. The caller holds the output.
// scheduled is nil unless the run is of a schedule.
func BeginRun(out Output, run string, job job.Job, now time.Time, scheduled *Scheduled) (*RunState, error) {
	r, err := NewRun(out, run, job, now, scheduled)
	if err != nil {
		return nil, err
	}
	return r, out.PutRun(r)
}

// NewRun is [BeginRun] without writing the new record. It closes the record of a run that was killed, which it recognises
// because the caller holds the output.
func NewRun(out Output, run string, job job.Job, now time.Time, scheduled *Scheduled) (*RunState, error) {
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
	return &RunState{Format: RunStateFormat, Run: run, State: StateRunning, Job: identity.String(), Began: now.UTC(), Artifacts: []ArtifactRef{}, Scheduled: scheduled}, nil
}

// End writes the end of a run to its record: the exit status of a finished run, or the fault of one that failed.
func (r *RunState) End(out Output, s State, exit *int, fault string, now time.Time) error {
	r.State, r.Exit, r.Fault, r.Ended = s, exit, fault, nil
	return r.close(out, now)
}

// close writes a record with its end, at the time now unless one is set. If it cannot be written, Ended is nil again.
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

// PointTo moves the pointer of an output to one of its artifacts, unless it is there already. who is the predictor whose
// bound the pointer shows.
func PointTo(out Output, c certify.Certificate, a ArtifactRef, who certify.Predictor, now time.Time) error {
	if old, err := out.Current(); err == nil && old != nil && old.ID == a.ID && old.Predictor == who {
		return nil
	}
	g := c.About(who)
	return out.Point(Current{ArtifactRef: a, Verdict: Verdict{g.Status, g.Bound}, Predictor: who, Since: now.UTC().Truncate(time.Millisecond)})
}
