package job

import (
	"encoding/json"
	"math"
	"time"
)

// Seconds is a duration. Its JSON form is a number of seconds.
type Seconds time.Duration

// MarshalJSON writes the number.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// UnmarshalJSON reads the number, to the nanosecond.
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
	PhaseFirstPass Phase = "first pass" // the first pass: digest, split, scaling
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
	Bound    float64 `json:"bound,omitempty"` // an estimate: only the certificate's is proven
	Risk     float64 `json:"risk,omitempty"`  // an estimate
	KL       float64 `json:"kl,omitempty"`    // nats
	Elapsed  Seconds `json:"elapsed_seconds"` // since the run began, or was resumed
}

// An Observer hears of the progress of a run, from one goroutine. Its functions must not block
// for long; nil ones are not called.
type Observer struct {
	Progress func(Progress)
	Warning  func(text string) // of what is no error
	Event    func(text string) // a step done as planned
	Spooled  func(rows int64)  // number of rows in a spool; several goroutines call it

	// Starting gets the evaluations of start values that are done, and the most that there will be.
	Starting func(done, most int)
	// Fitting gets the training rows that the predictor has seen, and their number.
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
