package config

import (
	"context"
	"errors"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A WatchFile is a watch file: one YAML document.
type WatchFile struct {
	followed

	State string   `yaml:"state"` // folder of the counts
	Unit  struct { // what is counted; rows without it
		Column yamlfile.Names `yaml:"column"` // whose values tell units apart
	} `yaml:"unit"`
	Alarm *Share            `yaml:"alarm"` // probability of a false alarm
	Delay yamlfile.Duration `yaml:"delay"` // how old files must be, so that labels have arrived

	// Files names a model and a certificate, if arguments give them instead of Model.
	Files struct{ Model, Certificate string }
}

// ReadWatch reads a watch file, and finds all faults before a row is read.
func ReadWatch(_ context.Context, path string, env Environment) (WatchFile, error) {
	c, t, err := readConfiguration[WatchFile](path, env.Lookup)
	if err != nil {
		return c, err
	}
	c.resolve(path, &c.State)
	var faults yamlfile.Faults
	c.followed.check(&faults)
	c.check(&faults)
	return c, t.Merge(faults)
}

// scoring returns a score file with the same rows and models.
func (c WatchFile) scoring() ScoreFile {
	return ScoreFile{followed: c.followed, Passthrough: c.Unit.Column}
}

// check adds the faults of everything but the model.
func (c *WatchFile) check(faults *yamlfile.Faults) {
	faults.Unless(c.State != "" && !isRemote(c.State), "state", "name the directory for the counts")
	if c.OnTopics() {
		c.fromTopic(faults)
		faults.Unless(c.Source.Kafka.Group == "", "source.kafka.group", "watch keeps its position in the state, not in a group: leave it out")
		faults.Unless(c.Delay == 0, "delay", "it is only for files; leave it out")
		faults.Unless(c.Poll == 0, "poll", "it is only for files; records are counted when they arrive")
		faults.Unless(c.Unit.Column == nil, "unit", "it is only for rows of files; leave it out")
	} else {
		c.fromFiles("state", c.State, faults)
	}
	for i, name := range c.Unit.Column {
		err := certify.ColumnName(name)
		faults.Unless(err == nil, "unit.column", "%v", err)
		faults.Unless(!slices.Contains(c.Unit.Column[:i], name), "unit.column", "%q is named twice", name)
	}
	faults.Unless(1e-15 <= c.Delta() && c.Delta() < 1, "alarm", "%g is no probability of a false alarm: want a number between 0 and 1, as in 0.01 or 1 %%", c.Delta())
}

// Delta returns the probability of a false alarm.
func (c WatchFile) Delta() float64 { return float64(given(c.Alarm, Share(watch.DefaultDelta))) }

// Check returns the faults of a watch that arguments declare.
func (c *WatchFile) Check() error {
	var faults yamlfile.Faults
	c.check(&faults)
	if err := faults.Err(errors.New("watch")); err != nil {
		return Argument(err)
	}
	return nil
}
