package config

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A ScoreFile is a score file: one YAML document.
type ScoreFile struct {
	followed

	Passthrough []string         `yaml:"passthrough"`
	Output      folderOr[string] `yaml:"output"` // of predictions
	Rejected    struct {
		To rejectedTo `yaml:"to"` // next to the output: rows without a prediction
	} `yaml:"rejected"`
	Replaced       string             `yaml:"replaced"` // what to do with predictions of a file's earlier content
	Members        string             `yaml:"members"`
	SessionTimeout *yamlfile.Duration `yaml:"session_timeout"`
}

// followed is what score and watch files have in common: a model and the rows.
type followed struct {
	Kafka  Cluster                `yaml:"kafka"`
	Model  folderOr[topicsConfig] `yaml:"model"` // the folder or topics with the pointer to the model
	Source struct {
		Paths yamlfile.Paths `yaml:"paths"`
		Kafka TopicSection   `yaml:"kafka"`
	} `yaml:"source"`
	Poll   yamlfile.Duration `yaml:"poll"`
	Serve  Serve             `yaml:"serve"`
	Budget `yaml:",inline"`

	Folder string // the folder of the file
}

// resolve makes relative paths relative to the folder of the file.
func (c *followed) resolve(path string, output *string) {
	c.Folder = filepath.Dir(path)
	relativePaths(c.Folder, append(c.Kafka.files(), &c.Source.Kafka.Schema, &c.Model.Folder, output)...)
	(&SourceSection{Paths: c.Source.Paths}).relativeTo(c.Folder)
}

// check adds the faults of everything but the rows.
func (c *followed) check(faults *yamlfile.Faults) {
	c.Kafka.check(c.OnTopics() || c.Model.Kafka != (topicsConfig{}), faults)
	if c.OnTopics() {
		c.Source.Kafka.Cluster = c.Kafka
	}
	if k := c.Model.Kafka; k != (topicsConfig{}) {
		faults.Unless(k.Name != "", "model.kafka.name", "give the name that the model is published under")
	} else {
		faults.Unless(c.Model.Folder != "" && (!isRemote(c.Model.Folder) || objects.CheckOutput(c.Model.Folder) == nil), "model", "name the output directory of the job, in which current.json says which model to use, or topics, as in {kafka: {name: delays}}")
	}
	c.Serve.check(faults)
}

// fromFiles adds the faults of rows in files. key declares folder, which must be outside of them.
func (c *followed) fromFiles(key, folder string, faults *yamlfile.Faults) {
	from := SourceSection{Paths: c.Source.Paths}.origin(job.Job{}, folder, faults)
	if folder == "" {
		return
	}
	if found := from.Finds(filepath.Join(folder, "lake", "rows.parquet")); found != "" {
		faults.Add(key, "%s is inside the data %s; choose a directory outside, or a name that begins with . or _", folder, found)
	}
}

// fromTopic adds the faults of rows on a topic.
func (c *followed) fromTopic(faults *yamlfile.Faults) {
	faults.Unless(len(c.Source.Paths) == 0, "source", "paths and kafka are both declared; name one of them")
	c.Source.Kafka.check("source.kafka", faults)
}

// A folderOr is a directory, or something on Kafka.
type folderOr[T any] struct {
	Folder string
	Kafka  T `yaml:"kafka"`
}

func (f *folderOr[T]) Form() (yamlfile.Form, string) {
	return yamlfile.Text(&f.Folder), ""
}

// What becomes of the predictions of a file that was replaced.
const (
	replacedKeep   = "keep"
	replacedRemove = "remove"
)

var replacedWords = []string{replacedKeep, replacedRemove}

// OnTopics reports whether rows come from a topic.
func (c followed) OnTopics() bool { return !reflect.ValueOf(c.Source.Kafka).IsZero() }

// ToTopic reports whether predictions go to a topic.
func (c ScoreFile) ToTopic() bool { return c.Output.Kafka != "" }

// Shared reports whether the members of the group share the partitions of the topic.
func (c ScoreFile) Shared() bool { return c.Members == GroupShared }

// Ready returns why or, if nil, why no model is current in its folder. See also [Damaged].
func (c followed) Ready(ctx context.Context, why error) error {
	folder := c.Model.Folder
	if why != nil || folder == "" || objects.IsAddress(folder) {
		return why
	}
	if p, err := sinklake.NewOutput(folder, nil).Current(); p == nil && err == nil {
		_, why = folderPointers(folder).Current(ctx)
	}
	return why
}

// ReadScore reads a score file, and finds all faults without reading rows.
func ReadScore(_ context.Context, path string, env Environment) (ScoreFile, error) {
	c, t, err := readConfiguration[ScoreFile](path, env.Lookup)
	if err != nil {
		return c, err
	}
	c.resolve(path, &c.Output.Folder)
	var faults yamlfile.Faults
	c.check(&faults)
	if c.OnTopics() {
		c.checkTopics(&faults)
	} else {
		c.checkFiles(&faults)
	}
	for i, name := range c.Passthrough {
		at, err := fmt.Sprintf("passthrough[%d]", i), c.canKeep(name)
		faults.Unless(err == nil, at, "%v", err)
		faults.Unless(!slices.Contains(c.Passthrough[:i], name), at, "%q is named twice", name)
	}
	return c, t.Merge(faults)
}

// canKeep returns an error if predictions have a column with the name of a kept one, or if records cannot have it.
func (c ScoreFile) canKeep(name string) error {
	if !c.OnTopics() {
		return sink.CanKeep(name)
	}
	others := []string{"partition", "offset", "key"}
	if c.ToTopic() {
		others = others[:2]
	}
	return cmp.Or(sink.CanKeep(name, others...), kafkalog.CanKeep(c.Source.Kafka.Format, name))
}

// checkFiles adds the faults of a source of files.
func (c *ScoreFile) checkFiles(faults *yamlfile.Faults) {
	c.fromFiles("output", c.Output.Folder, faults)
	faults.Unless(c.Output.Folder != "" && !isRemote(c.Output.Folder), "output", "name the directory for the predictions; only those of rows of a topic can go to a topic")
	faults.Unless(c.Replaced == "" || slices.Contains(replacedWords, c.Replaced), "replaced", "%q is neither keep nor remove", c.Replaced)
	faults.Unless(c.Rejected.To == rejectedTo{}, "rejected.to", "it is for records of a topic; predictions of files give the reason in the row itself")
	faults.Unless(c.SessionTimeout == nil, "session_timeout", "it is only for rows of a topic")
	faults.Unless(c.Members == "", "members", "it is only for rows of a topic")
}

// checkTopics adds the faults of a score file with rows on a topic.
func (c ScoreFile) checkTopics(faults *yamlfile.Faults) {
	k := c.Source.Kafka
	c.fromTopic(faults)
	faults.Unless(k.Group != "", "source.kafka.group", "name the group whose offsets say what has been predicted")
	to := c.Output.Kafka
	faults.Unless((c.Output.Folder == "") != (to == "") && !isRemote(c.Output.Folder), "output", "name the topic for the predictions, as in {kafka: predictions}, or a directory for files of them")
	faults.Unless(to == "" || to != k.Topic, "output.kafka", "%s is the topic of the rows; name another topic", to)
	faults.Unless(c.Replaced == "", "replaced", "it is only for rows of files")
	bad := c.Rejected.To
	faults.Unless(bad.path == "", "rejected.to", "records of a topic go to a topic, as in {kafka: rows-dead}")
	faults.Unless(bad.topic == "" || bad.topic != k.Topic && bad.topic != to, "rejected.to", "%s has the rows or the predictions; name another topic", bad.topic)
	faults.Unless(slices.Contains([]string{"", GroupSingle, GroupShared}, c.Members), "members", "%q is neither "+GroupSingle+" nor "+GroupShared, c.Members)
	faults.Unless(!c.Shared() || c.ToTopic(), "members", "shared needs predictions on a topic; only one process can write predictions to a directory")
	faults.Unless(c.Session() >= time.Second, "session_timeout", "%v: want some seconds, as in 20s", c.Session())
	faults.Unless(c.Poll == 0 || !c.ToTopic(), "poll", "it is only for files; records are predicted when they arrive")
}

// Session returns after how long a silent member loses its partitions.
func (c ScoreFile) Session() time.Duration {
	return time.Duration(given(c.SessionTimeout, sessionTimeout))
}

// Every returns the time between two searches for new files and models.
func (c followed) Every() time.Duration { return cmp.Or(time.Duration(c.Poll), defaultPoll) }
