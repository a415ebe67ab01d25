// Package watch tests published models by labelled rows that came after them, as the rows come.
//
// A [Writer] takes what a [score.Loop] predicts and counts losses in place of writing predictions.
// Its [State] is replaced as a whole, with the positions of the rows in it: each row counts once,
// however often the process is killed.
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

// A State is what was counted, and where the rows were.
type State struct {
	Format  string   `json:"format"`
	Subject string   `json:"subject,omitempty"` // of the tests: see [pipeline.Subject]
	Tests   []Test   `json:"tests"`             // one a certificate, the latest last
	Files   []string `json:"files,omitempty"`   // that were counted: by name and footer, and by values
	Log     *Log     `json:"log,omitempty"`     // of rows of a topic
}

// A Log says how far a topic was counted.
type Log struct {
	Topic   string        `json:"topic"`
	ID      string        `json:"id,omitempty"`      // of the topic, if brokers tell
	Cluster string        `json:"cluster,omitempty"` // likewise
	Offsets map[int]int64 `json:"offsets"`           // by partition
}

// A Test is what rows say of a certificate.
type Test struct {
	Certificate string          `json:"certificate"` // id
	Losses      certify.RiskSum `json:"losses"`      // of the mean, on labelled rows
	Unlabelled  int64           `json:"unlabelled"`  // rows of which only the target breaks the row rules: it is null, say
	Bad         int64           `json:"bad"`         // rows that break the row rules
	Known       int64           `json:"known"`       // rows that are no news: see [Config.Known]
	Alarm       certify.Alarm   `json:"alarm"`
}

// Validate reports the faults of a state that was read.
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

// of is the test of a predictor's certificate, which is begun if there is none.
func (s *State) of(by *score.Predictor, delta float64) (*Test, error) {
	for i := range s.Tests {
		if t := &s.Tests[i]; t.Certificate == by.ID {
			if t.Alarm.Delta != delta {
				return nil, fmt.Errorf("the alarm was begun with a probability of %g that it is false, and cannot go on with %g", t.Alarm.Delta, delta)
			}
			if bound := BoundOf(by.Certificate); t.Alarm.Bound != bound {
				return nil, fmt.Errorf("the alarm of certificate %.12s… was begun above a bound of %g, and has to watch %g (hint: count anew in another folder)", by.ID, t.Alarm.Bound, bound)
			}
			return t, nil
		}
	}
	alarm, err := certify.NewAlarm(BoundOf(by.Certificate), delta)
	s.Tests = append(s.Tests, Test{Certificate: by.ID, Alarm: alarm})
	return &s.Tests[len(s.Tests)-1], err
}

// BoundOf is the bound on the loss of the mean that an alarm watches: 1, which raises none, where
// nothing is certified, or only about rows whose features have one role.
func BoundOf(c certify.Certificate) float64 {
	if c.Roles.ByContent {
		return 1
	}
	if g := pipeline.JudgeMean.Of(c); g.Status.Promises() {
		return g.Bound
	}
	return 1
}
