package pipeline

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/pacsgp/pacsgp/certify"
)

// An Output is what a job publishes to: a directory, say. One run at a time holds it, from
// its number to its pointer. Its methods are for one goroutine at a time; those that write
// ask for a hold.
type Output interface {
	Sink
	RunLog
	Pointer
	Numbers
	Handovers
	// Hold takes the lease of the output, and makes the place if it is not there. A hold
	// within a hold is part of it. release gives back what this call took; a process that
	// dies gives back all. It does not wait: another holder is the error [ErrHeld].
	Hold() (release func() error, err error)
	// GetCertificate reads a published certificate.
	GetCertificate(ctx context.Context, id string) (certify.Certificate, error)
	// PutManifest stores the manifest of a certificate.
	PutManifest(m Manifest) error
	// GetManifest reads the manifest of a certificate, which must be about its sample.
	GetManifest(c certify.Certificate, id string) (Manifest, error)
	// Checkpoint is the place of the checkpoint of a job, or of an alternative, by its digest.
	Checkpoint(job Digest) Checkpoint
	// Notices say what a user should know of the place: checkpoints of other jobs than
	// these, say.
	Notices(jobs []Digest) ([]string, error)
}

// ErrHeld says that another process works there. It may be asked again later.
var ErrHeld = errors.New("in use by another process")

// A Checkpoint is the place of one job's checkpoint.
type Checkpoint interface {
	Checkpoints
	// Where names the place, and reports whether a checkpoint is there.
	Where() (place string, there bool)
}

// A RunLog keeps a record of each run, from its begin on.
type RunLog interface {
	// PutRun stores the record of a run in place of what was stored of it, durably.
	PutRun(r *RunState) error
	// Runs are the records, the newest first, each read when it is asked for. What cannot
	// be read is passed over.
	Runs() (iter.Seq[*RunState], error)
	// Retain keeps the newest finished runs, so many, with what they published, and all
	// runs that are newer. What is current stays, what a run that is kept has published, and
	// the record of the newest run of each sequence that has taken a number.
	Retain(keep int) error
}

// A Pointer says which certified model is current.
type Pointer interface {
	// Current is what is current; nil: nothing is. A damaged pointer is an error.
	Current() (*Current, error)
	// Point moves the pointer in one step, to an artifact that is in the output, whole.
	Point(to Current) error
}

// Handovers keeps what training leaves for a last pass that is made in parts.
type Handovers interface {
	// PutHandover stores a handover with its model, which the sink has.
	PutHandover(ctx context.Context, h *Handover) error
	// DropHandover removes it, if there is one.
	DropHandover() error
}

// Current is what a pointer says.
type Current struct {
	ArtifactRef

	Predictor Judge // that the bound is of
	Bound     float64
	Since     time.Time
}

// An ArtifactRef names a certificate and its model by their content.
type ArtifactRef struct {
	ID    string `json:"id"`    // of the certificate
	Model string `json:"model"` // SHA-256
}

// A RunState is the record of one run of many, from its begin on.
type RunState struct {
	Format    string        `json:"format"`
	Run       string        `json:"run"`
	State     State         `json:"state"`
	Job       string        `json:"job"` // digest of the configuration, of a sweep as a whole
	Began     time.Time     `json:"began"`
	Ended     *time.Time    `json:"ended,omitempty"`
	Exit      *int          `json:"exit_status,omitempty"` // once it is finished
	Fault     string        `json:"fault,omitempty"`       // why it failed, or finished with another status than 0
	Artifacts []ArtifactRef `json:"artifacts"`             // what it published, the best first
	Record    *RunRecord    `json:"record,omitempty"`      // of a finished run
	Scheduled *Scheduled    `json:"scheduled,omitempty"`   // of a run of a schedule
}

// Scheduled is what a scheduler notes of a run.
type Scheduled struct {
	Job      string         `json:"job"`    // name, and that of its sequence
	Number   uint64         `json:"number"` // among the runs of the job
	Trigger  string         `json:"trigger"`
	Moment   time.Time      `json:"moment"` // that it was due
	Missed   int            `json:"missed"` // moments that it stands for beside its own
	Try      int            `json:"try"`
	Kills    int            `json:"kills,omitempty"`    // of this try that ended with their scheduler
	Sequence int64          `json:"sequence,omitempty"` // number in the sequence
	Files    []ManifestFile `json:"files"`
	Window   *TopicWindow   `json:"window,omitempty"` // of a topic
	Current  bool           `json:"current"`          // whether it has become current
	Waits    bool           `json:"waits,omitempty"`  // for rows to be compared on
	Why      string         `json:"why,omitempty"`    // it has become current, or has not
}

// A State is what has become of a run.
type State string

// States of a run.
const (
	StateRunning     State = "running"
	StateFailed      State = "failed"
	StateFinished    State = "finished"
	StateInterrupted State = "interrupted" // a scheduled one, whose scheduler was told to end
	StateSkipped     State = "skipped"     // a scheduled one that was missed, and is not made up for
	StateNothing     State = "nothing"     // a scheduled one without a new row
)

// RunStateFormat is the format of the records of runs.
const RunStateFormat = "pacsgp-run-state/1"

// BeginRun records that a run has begun, behind all others. The record of one that was killed
// is closed first: this run holds the output, so that it is not at work. of is what a
// scheduler notes of it; nil: it is of no schedule.
func BeginRun(out Output, run string, job Job, now time.Time, of *Scheduled) (*RunState, error) {
	identity, err := job.Identity()
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
		if !now.After(r.Began) { // a clock was put back
			now = r.Began.Add(time.Nanosecond)
		}
		break
	}
	r := &RunState{Format: RunStateFormat, Run: run, State: StateRunning, Job: identity.String(), Began: now.UTC(), Artifacts: []ArtifactRef{}, Scheduled: of}
	return r, out.PutRun(r)
}

// failed closes the record of a run that ended with an error, if there is one. A record
// that cannot be written is closed by the next run.
func (r *RunState) failed(out Output, err error) {
	if err != nil {
		_ = r.End(out, StateFailed, nil, Shortened(err.Error()), time.Now())
	}
}

// End closes a record: with the exit status of a finished run, or with the fault of one
// that failed.
func (r *RunState) End(out Output, s State, exit *int, fault string, now time.Time) error {
	now = now.UTC()
	r.State, r.Ended, r.Exit, r.Fault = s, &now, exit, fault
	return out.PutRun(r)
}
