package pipeline

import (
	"context"
	"iter"
	"time"

	"github.com/pacsgp/pacsgp/certify"
)

// An Output is what a job publishes to: a directory, say. One run at a time holds it, from
// its number to its pointer. Its methods are for one goroutine at a time; all but Hold,
// Runs and Current ask for a hold.
type Output interface {
	Sink
	RunLog
	Pointer
	Handovers
	// Hold takes the lease of the output, and makes the place if it is not there. A hold
	// within a hold is part of it. release gives back what this call took; a process that
	// dies gives back all. It does not wait: another holder is an error.
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
	// runs that are newer. What is current stays, and what a run that is kept has published.
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
}

// A State is what has become of a run.
type State string

// States of a run.
const (
	StateRunning  State = "running"
	StateFailed   State = "failed"
	StateFinished State = "finished"
)

// RunStateFormat is the format of the records of runs.
const RunStateFormat = "pacsgp-run-state/1"

// beginRun records that a run has begun. The record of one that was killed is closed first:
// this run holds the output, so that it is not at work.
func beginRun(out Output, run string, job Job, now time.Time) (*RunState, error) {
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
			if err := r.end(out, StateFailed, nil, "it was killed, or could not write its end", now); err != nil {
				return nil, err
			}
		}
		break
	}
	r := &RunState{Format: RunStateFormat, Run: run, State: StateRunning, Job: identity.String(), Began: now.UTC(), Artifacts: []ArtifactRef{}}
	return r, out.PutRun(r)
}

// failed closes the record of a run that ended with an error, if there is one. A record
// that cannot be written is closed by the next run.
func (r *RunState) failed(out Output, err error) {
	if err != nil {
		_ = r.end(out, StateFailed, nil, Shortened(err.Error()), time.Now())
	}
}

// end closes a record: with the exit status of a finished run, or with the fault of one
// that failed.
func (r *RunState) end(out Output, s State, exit *int, fault string, now time.Time) error {
	now = now.UTC()
	r.State, r.Ended, r.Exit, r.Fault = s, &now, exit, fault
	return out.PutRun(r)
}
