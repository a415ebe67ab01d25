package job

import (
	"encoding/json"
	"math"
	"time"
)

// Seconds is a duration whose JSON form is a number of seconds.
type Seconds time.Duration

// MarshalJSON returns the number of seconds.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// UnmarshalJSON sets the duration from a number of seconds, rounded to nanoseconds.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	var x float64
	if err := json.Unmarshal(text, &x); err != nil {
		return err
	}
	*s = Seconds(math.Round(x * float64(time.Second)))
	return nil
}

// A Phase is a part of a run.
type Phase string

// The phases, in order.
const (
	PhaseFirstPass Phase = "first pass" // digest, split and scaling
	PhaseStart     Phase = "start values"
	PhaseTrain     Phase = "train"     // fitting Q
	PhasePredictor Phase = "predictor" // least squares on all training rows
	PhaseLastPass  Phase = "last pass" // exact risk and digest from the reopened source
	PhasePublish   Phase = "publish"
)

// Progress is one observation of a run.
type Progress struct {
	Phase    Phase   `json:"phase"`
	Inducing int     `json:"inducing,omitempty"` // the candidate being trained
	Stage    string  `json:"stage,omitempty"`    // of training
	Step     int     `json:"step,omitempty"`
	Steps    int     `json:"steps,omitempty"` // planned
	Bound    float64 `json:"bound,omitempty"` // an estimate; only the certificate's bound is proven
	Risk     float64 `json:"risk,omitempty"`  // an estimate
	KL       float64 `json:"kl,omitempty"`    // nats
	Elapsed  Seconds `json:"elapsed_seconds"` // since the run began, or was resumed
}

// An Observer has functions that a run calls as it proceeds, all but Spooled from one goroutine. They must not block
// for long. A nil function is not called.
type Observer struct {
	Progress func(Progress)
	Warning  func(text string) // something that the user should know and that does not stop the run
	Event    func(text string) // a step was done as planned
	Spooled  func(rows int64)  // the number of rows in the spool; called from several goroutines

	// Starting gets the number of evaluations of start values so far, and the largest number that there may be.
	Starting func(done, most int)
	// Fitting gets the number of training rows that the predictor was fitted on so far, and of all training rows.
	Fitting func(done, most int64)
}

// ReportProgress calls Progress, if it is set.
func (o Observer) ReportProgress(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

// ReportEvent calls Event, if it is set.
func (o Observer) ReportEvent(text string) {
	if o.Event != nil {
		o.Event(text)
	}
}

// ReportWarning calls Warning, if it is set.
func (o Observer) ReportWarning(text string) {
	if o.Warning != nil {
		o.Warning(text)
	}
}
