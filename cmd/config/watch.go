package config

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A WatchFile is a watch file: one YAML document.
type WatchFile struct {
	Kafka   Cluster                     `yaml:"kafka"`
	Model   folderOr[scoreTopicsConfig] `yaml:"model"` // with the pointer to the model
	Source  scoreSourceConfig           `yaml:"source"`
	State   string                      `yaml:"state"` // folder
	Unit    watchedUnit                 `yaml:"unit"`  // what is counted; rows without it
	Alarm   *Share                      `yaml:"alarm"` // chance that it is false
	Delay   timeBack                    `yaml:"delay"` // until labels have come
	Poll    yamlfile.Duration           `yaml:"poll"`
	Serve   Serve                       `yaml:"serve"`
	Workers int                         `yaml:"workers"`
	Memory  yamlfile.Size               `yaml:"memory"`

	Folder string // of the file
	// Files are model and certificate, instead of Model.
	Files struct{ Model, Certificate string }
}

// A watchedUnit names the columns whose values tell units apart.
type watchedUnit struct {
	Column yamlfile.Names `yaml:"column"`
	Wait   int            `yaml:"wait"` // later units that must have begun before one ends
}

// ReadWatch reads a watch file, and reports all faults.
func ReadWatch(ctx context.Context, path string, env Environment) (WatchFile, error) {
	c, faults, err := checkWatch(ctx, path, env)
	if err == nil {
		err = yamlfile.Err(faults)
	}
	return c, err
}

// checkWatch reads a watch file, and finds its faults before a row is read.
func checkWatch(_ context.Context, path string, env Environment) (WatchFile, []yamlfile.Fault, error) {
	c, t, err := readConfiguration[WatchFile](path, env.Lookup)
	if err != nil {
		return c, nil, err
	}
	if t.Empty() {
		return c, t.Faults, nil
	}
	c.Folder = filepath.Dir(path)
	relativePaths(c.Folder, c.Source.Kafka.files(), c.Kafka.files(), []*string{&c.Model.Folder, &c.State})
	var faults yamlfile.Faults
	s := c.scoring()
	s.setCluster(&faults)
	c.Source = s.Source
	s.checkModel(&faults)
	c.check(&faults)
	return c, t.Merge(faults), nil
}

// scoring is the score file that reads the same rows by the same models.
func (c WatchFile) scoring() ScoreFile {
	return ScoreFile{Kafka: c.Kafka, Model: c.Model, Source: c.Source, Keep: c.Unit.Column, Poll: c.Poll, Serve: c.Serve, Workers: c.Workers, Memory: c.Memory, Folder: c.Folder}
}

// check adds the faults of all but the model.
func (c *WatchFile) check(faults *yamlfile.Faults) {
	faults.Unless(c.State != "" && !isRemote(c.State), "state", "name the directory that keeps what was counted")
	if c.OnTopics() {
		k := c.Source.Kafka
		faults.Unless(len(c.Source.Paths) == 0, "source", "paths and kafka are both declared; name one of them")
		k.check("source.kafka", faults)
		faults.Unless(k.Group == "", "source.kafka.group", "watch keeps its position in the state, not in a group: leave it out")
		faults.Unless(c.Delay == 0, "delay", "it is only for files; leave it out")
		faults.Unless(c.Poll == 0, "poll", "it is only for files; records are counted when they arrive")
		faults.Unless(c.Unit.Column == nil, "unit", "it is of rows of files; leave it out")
	} else {
		source := SourceSection{Paths: c.Source.Paths}
		source.relativeTo(c.Folder)
		c.Source.Paths = source.Paths
		from := source.origin(job.Job{}, c.State, faults)
		if c.State != "" {
			if found := from.Finds(filepath.Join(c.State, "lake", "rows.parquet")); found != "" {
				faults.Add("state", "%s lies in the data %s; choose a directory outside, or a name that begins with . or _", c.State, found)
			}
		}
	}
	faults.Unless(c.Unit.Wait == 0 || c.Unit.Column != nil && 1 <= c.Unit.Wait && c.Unit.Wait <= 1000, "unit.wait", "%d later units: want a number from 1 to 1000, beside unit.column", c.Unit.Wait)
	for i, name := range c.Unit.Column {
		err := certify.ColumnName(name)
		faults.Unless(err == nil, "unit.column", "%v", err)
		faults.Unless(!slices.Contains(c.Unit.Column[:i], name), "unit.column", "%q is named twice", name)
	}
	faults.Unless(1e-15 <= c.Delta() && c.Delta() < 1, "alarm", "%g is no probability of a false alarm: want a number between 0 and 1, as in 0.01 or 1 %%", c.Delta())
	c.Serve.check(faults)
	faults.Unless(c.Delay >= 0, "delay", "%v is negative", time.Duration(c.Delay))
	faults.Unless(c.Poll >= 0, "poll", "%v is negative", time.Duration(c.Poll))
	faults.Unless(c.Workers >= 0 && c.Workers <= MaxWorkers, "workers", "%d is not in 1 to "+strconv.Itoa(MaxWorkers), c.Workers)
}

// OnTopics reports whether rows come from a topic.
func (c WatchFile) OnTopics() bool { return !reflect.ValueOf(c.Source.Kafka).IsZero() }

// Delta is the probability of a false alarm.
func (c WatchFile) Delta() float64 { return float64(given(c.Alarm, Share(watch.DefaultDelta))) }

// Check reports the faults of what arguments declare.
func (c *WatchFile) Check() error {
	var faults yamlfile.Faults
	c.check(&faults)
	return faults.Err(job.ErrConfig)
}
