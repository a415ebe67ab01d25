// Package watch tests published models by labelled rows that came after them, as the rows come.
//
// A [Writer] counts the losses of the predictions of a [score.Loop]. Its [State], with the
// positions of the rows in it, is replaced as a whole: each row counts once, however often the
// process is killed.
package watch

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
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
	Certificate string          `json:"certificate"` // id
	Losses      certify.RiskSum `json:"losses"`      // of the mean, on labelled rows
	Unlabelled  int64           `json:"unlabelled"`  // rows of which only the target breaks the row rules, as a null
	Bad         int64           `json:"bad"`         // other rows that break the row rules
	Known       int64           `json:"known"`       // rows that are not new: see [Config.Known]
	Alarm       certify.Alarm   `json:"alarm"`
}

// Validate reports the faults of a stored state.
func (s *State) Validate() error {
	if s.Format != Format {
		return fmt.Errorf("its format is %q, not %q", s.Format, Format)
	}
	var faults []error
	for i := range s.Tests {
		faults = append(faults, s.Tests[i].validate())
	}
	return errors.Join(faults...)
}

func (t *Test) validate() error {
	err := t.Alarm.Validate()
	if t.Losses.Count() != t.Alarm.Rows || t.Unlabelled < 0 || t.Bad < 0 || t.Known < 0 {
		err = errors.Join(err, errors.New("its counts contradict each other"))
	}
	return err
}

// clone is a copy that can be added to.
func (s *State) clone() *State {
	c := *s
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

// of is the test of a predictor's certificate, a new one if there is none.
func (s *State) of(by *score.Predictor, delta float64) (*Test, error) {
	for i := range s.Tests {
		if t := &s.Tests[i]; t.Certificate == by.ID {
			if t.Alarm.Delta != delta {
				return nil, fmt.Errorf("the alarm began with a probability of %g of being false, and cannot go on with %g", t.Alarm.Delta, delta)
			}
			if bound := BoundOf(by.Certificate); t.Alarm.Bound != bound {
				return nil, fmt.Errorf("the alarm of certificate %.12s… began with a bound of %g, and the bound is now %g (hint: count anew in another folder)", by.ID, t.Alarm.Bound, bound)
			}
			return t, nil
		}
	}
	alarm, err := certify.NewAlarm(BoundOf(by.Certificate), delta)
	s.Tests = append(s.Tests, Test{Certificate: by.ID, Alarm: alarm})
	return &s.Tests[len(s.Tests)-1], err
}

// BoundOf is the bound on the loss of the mean that an alarm watches. It is 1, which raises no
// alarm, if nothing is certified, or only about rows whose roles follow from their features, or
// about units.
func BoundOf(c certify.Certificate) float64 {
	if c.Roles.ByContent || c.Ledger.Units != nil {
		return 1
	}
	if g := pipeline.JudgeMean.Of(c); g.Status.Promises() {
		return g.Bound
	}
	return 1
}
