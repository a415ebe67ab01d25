// Package watch tests whether the certified bounds of published models hold on labelled rows that are newer than the
// models.
//
// A [Writer] counts the losses of the predictions of a [score.Loop]. The losses and the positions of the counted rows
// are in one [State], which is stored as a whole. So nothing counts twice if the process is killed.
package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// Format is the format of a state.
const Format = "pacsgp-watch/1"

// DefaultDelta is the default probability of a false alarm.
const DefaultDelta = 0.01

// A State holds all tests and the positions of the rows that they have counted.
type State struct {
	Format  string   `json:"format"`
	Subject string   `json:"subject,omitempty"` // of the tests: [pipeline.Subject]
	Tests   []Test   `json:"tests"`             // one for each certificate, the latest last
	Units   *unitSet `json:"units,omitempty"`   // nil until a unit is counted
	Files   []string `json:"files,omitempty"`   // counted files, each by name and footer, and by its values
	Log     *Log     `json:"log,omitempty"`     // for rows of a topic
}

// A Log says up to which offsets a topic was counted.
type Log struct {
	Topic   string        `json:"topic"`
	ID      string        `json:"id,omitempty"`      // of the topic; "" if brokers do not give it
	Cluster string        `json:"cluster,omitempty"` // id of the cluster, likewise
	Offsets map[int]int64 `json:"offsets"`           // after the last counted record, by partition
}

// A Test counts the losses of a certificate on new rows.
type Test struct {
	Certificate string          `json:"certificate"`    // id
	Unit        []string        `json:"unit,omitempty"` // columns that identify units; nil if rows are counted instead of units
	Losses      certify.RiskSum `json:"losses"`         // of the mean, on labelled rows or on units that have ended
	Rows        int64           `json:"rows,omitempty"` // labelled rows of units that have ended
	Open        int64           `json:"open,omitempty"` // labelled rows of units that have not ended
	Late        int64           `json:"late,omitempty"` // labelled rows whose unit had ended before them or has rows of two models
	Unlabelled  int64           `json:"unlabelled"`     // rows in which only the target breaks a row rule, such as a null
	Bad         int64           `json:"rejected"`       // other rows that break a row rule
	Known       int64           `json:"known"`          // rows that are not new, by [Config.Known]
	Alarm       certify.Alarm   `json:"alarm"`
	Where       string          `json:"where,omitempty"` // position of the row that raised the alarm
}

// StateFile is the name of the note that holds the state.
const StateFile = "watch.json"

// Parse returns a stored state. A state with faults is an error.
func Parse(text []byte) (*State, error) {
	s := &State{}
	text, err := digest.Unseal(text)
	if err == nil {
		err = certify.Unmarshal(text, s)
	}
	if err != nil {
		return nil, err
	}
	return s, s.Validate()
}

// Text returns the text to store.
func (s *State) Text() ([]byte, error) {
	text, err := json.Marshal(s)
	return digest.Seal(text), err
}

// Validate reports the faults of a stored state.
func (s *State) Validate() error {
	if s.Format != Format {
		return fmt.Errorf("its format is %q, not %q", s.Format, Format)
	}
	var faults []error
	if len(s.Files) > 0 && len(s.Tests) == 0 {
		faults = append(faults, errors.New("it has files, and no test of a certificate"))
	}
	for i := range s.Tests {
		t := &s.Tests[i]
		faults = append(faults, t.Alarm.Validate())
		if t.Losses.Count() != t.Alarm.Rows || t.Labelled() < t.Losses.Count() || t.Open < 0 || t.Late < 0 || t.Unlabelled < 0 || t.Bad < 0 || t.Known < 0 {
			faults = append(faults, errors.New("its counts contradict each other"))
		}
	}
	return errors.Join(append(faults, s.validateUnits())...)
}

// Labelled returns the number of labelled rows that the losses are from.
func (t *Test) Labelled() int64 {
	if t.Unit != nil {
		return t.Rows
	}
	return t.Losses.Count()
}

// New returns the number of rows that came after the model, with or without a label.
func (t *Test) New() int64 { return t.Labelled() + t.Open + t.Late + t.Unlabelled + t.Bad }

// clone returns a deep copy, as far as additions to it change anything.
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

// Test returns the test of a certificate, or nil if there is none.
func (s *State) Test(certificate string) *Test {
	if i := slices.IndexFunc(s.Tests, func(t Test) bool { return t.Certificate == certificate }); i >= 0 {
		return &s.Tests[i]
	}
	return nil
}

// of returns the test of a predictor's certificate, a new one if there is none. It returns an error if the test began
// with another delta, bound or unit.
func (s *State) of(by *score.Predictor, delta float64, unit []string) (*Test, error) {
	if len(s.Tests) > 0 && !slices.Equal(s.Tests[0].Unit, unit) {
		return nil, fmt.Errorf("unit: the tests began with %s, and cannot go on with %s (hint: count again in another folder)", counts(s.Tests[0].Unit), counts(unit))
	}
	_, bound := Promise(by.Certificate, unit)
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

// counts returns what a test counts, in words.
func counts(unit []string) string {
	if unit == nil {
		return "rows"
	}
	return "units of " + strings.Join(unit, ", ")
}

// Promise returns the loss of predictions that tests are about, and the certified bound on its mean: under
// [certify.AnyTolerance] those of the interval for [certify.CurveShare]. The bound is 1, with which no alarm is raised, if
// nothing is certified, or only about units of other columns than unit.
func Promise(c certify.Certificate, unit []string) (certify.TargetLoss, float64) {
	g := c.About(certify.PredictorMean)
	if within, ok := g.Curve.Within(certify.CurveShare); ok && c.Loss.Tolerance == certify.AnyTolerance {
		at, _ := g.Curve.At(within)
		c.Loss.Epsilon, g.Bound = within, at.Bound
	}
	if g.Status != certify.StatusCertified || !speaksOf(c, unit) {
		g.Bound = 1
	}
	return c.Loss, g.Bound
}

// speaksOf reports whether the certificate is about single rows or about units of these columns.
func speaksOf(c certify.Certificate, unit []string) bool {
	u := c.Counts.Units
	return u == nil || slices.Equal(slices.Sorted(slices.Values(u.Columns)), slices.Sorted(slices.Values(unit)))
}
