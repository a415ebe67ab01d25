// Package watch tests published models by labelled rows that came after them, as the rows come.
//
// A [Writer] counts the losses of the predictions of a [score.Loop]. Its [State], with the
// positions of the rows in it, is replaced as a whole: each row counts once, however often the
// process is killed.
package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// Format is the format of a state.
const Format = "pacsgp-watch/1"

// DefaultDelta is the probability of a false alarm.
const DefaultDelta = 0.01

// A State is all tests, and the positions of the rows that they have counted.
type State struct {
	Format  string   `json:"format"`
	Subject string   `json:"subject,omitempty"` // of the tests: see [pipeline.Subject]
	Tests   []Test   `json:"tests"`             // one for each certificate, the latest last
	Units   *unitSet `json:"units,omitempty"`   // of tests by units
	Files   []string `json:"files,omitempty"`   // counted files: by name and footer, and by values
	Log     *Log     `json:"log,omitempty"`     // for rows of a topic
}

// A Log says how far a topic was counted.
type Log struct {
	Topic   string        `json:"topic"`
	ID      string        `json:"id,omitempty"`      // of the topic, if brokers tell
	Cluster string        `json:"cluster,omitempty"` // likewise
	Offsets map[int]int64 `json:"offsets"`           // by partition
}

// A Test counts the losses of a certificate on new rows.
type Test struct {
	Certificate string          `json:"certificate"`    // id
	Unit        []string        `json:"unit,omitempty"` // columns that tell units apart: these are counted; nil: rows are
	Losses      certify.RiskSum `json:"losses"`         // of the mean, on labelled rows, or on units that have ended
	Rows        int64           `json:"rows,omitempty"` // labelled rows of these units
	Open        int64           `json:"open,omitempty"` // labelled rows of units that have not ended
	Late        int64           `json:"late,omitempty"` // labelled rows of no unit: theirs had ended, or has rows of two models
	Unlabelled  int64           `json:"unlabelled"`     // rows of which only the target breaks the row rules, as a null
	Bad         int64           `json:"rejected"`       // other rows that break the row rules
	Known       int64           `json:"known"`          // rows that are not new: see [Config.Known]
	Alarm       certify.Alarm   `json:"alarm"`
	Where       string          `json:"where,omitempty"` // the position of the row that raised it
}

// StateFile is the note of a folder with a state.
const StateFile = "watch.json"

// Parse returns a stored state.
func Parse(text []byte) (*State, error) {
	s := &State{}
	err := json.Unmarshal(text, s)
	if err == nil {
		err = s.Validate()
	}
	return s, err
}

// Validate reports the faults of a stored state.
func (s *State) Validate() error {
	if s.Format != Format {
		return fmt.Errorf("its format is %q, not %q", s.Format, Format)
	}
	var faults []error
	for i := range s.Tests {
		t := &s.Tests[i]
		faults = append(faults, t.Alarm.Validate())
		if t.Losses.Count() != t.Alarm.Rows || t.Labelled() < t.Losses.Count() || t.Open < 0 || t.Late < 0 || t.Unlabelled < 0 || t.Bad < 0 || t.Known < 0 {
			faults = append(faults, errors.New("its counts contradict each other"))
		}
	}
	return errors.Join(append(faults, s.validateUnits())...)
}

// Labelled is the number of labelled rows behind the losses.
func (t *Test) Labelled() int64 {
	if t.Unit != nil {
		return t.Rows
	}
	return t.Losses.Count()
}

// clone is a copy that can be added to.
func (s *State) clone() *State {
	c := *s
	if s.Units != nil {
		c.Units = s.Units.clone()
	}
	c.Tests = slices.Clone(s.Tests)
	for i := range c.Tests {
		c.Tests[i].Alarm.Stakes = slices.Clone(c.Tests[i].Alarm.Stakes)
	}
	if s.Log != nil {
		log := *s.Log
		if log.Offsets = maps.Clone(s.Log.Offsets); log.Offsets == nil {
			log.Offsets = map[int]int64{}
		}
		c.Log = &log
	}
	return &c
}

// Test is the test of a certificate, nil if there is none.
func (s *State) Test(certificate string) *Test {
	if i := slices.IndexFunc(s.Tests, func(t Test) bool { return t.Certificate == certificate }); i >= 0 {
		return &s.Tests[i]
	}
	return nil
}

// of is the test of a predictor's certificate by units, or by rows, a new one if there is none.
func (s *State) of(by *score.Predictor, delta float64, unit []string) (*Test, error) {
	if len(s.Tests) > 0 && !slices.Equal(s.Tests[0].Unit, unit) {
		return nil, fmt.Errorf("unit: the tests began with %s, and cannot go on with %s (hint: count again in another folder)", counts(s.Tests[0].Unit), counts(unit))
	}
	bound := BoundOf(by.Certificate, unit)
	if t := s.Test(by.ID); t != nil {
		if t.Alarm.Delta != delta {
			return nil, fmt.Errorf("the alarm began with a probability of %g of being false, and cannot go on with %g", t.Alarm.Delta, delta)
		}
		if t.Alarm.Bound != bound {
			return nil, fmt.Errorf("the alarm of certificate %.12s… began with a bound of %g, and the bound is now %g (hint: count again in another folder)", by.ID, t.Alarm.Bound, bound)
		}
		return t, nil
	}
	alarm, err := certify.NewAlarm(bound, delta)
	s.Tests = append(s.Tests, Test{Certificate: by.ID, Unit: unit, Alarm: alarm})
	return &s.Tests[len(s.Tests)-1], err
}

// counts says what a test counts.
func counts(unit []string) string {
	if unit == nil {
		return "rows"
	}
	return "units of " + strings.Join(unit, ", ")
}

// BoundOf is the bound on the loss of the mean that an alarm watches, on units of these columns or on
// rows. It is 1, which raises no alarm, if nothing is certified, or only about other units.
func BoundOf(c certify.Certificate, unit []string) float64 {
	if g := c.About(certify.PredictorMean); g.Status == certify.StatusCertified && speaksOf(c, unit) {
		return g.Bound
	}
	return 1
}

// speaksOf reports whether what is certified is about the loss of rows, or the mean loss of units of
// these columns.
func speaksOf(c certify.Certificate, unit []string) bool {
	u := c.Counts.Units
	return u == nil || slices.Equal(slices.Sorted(slices.Values(u.Columns)), slices.Sorted(slices.Values(unit)))
}
