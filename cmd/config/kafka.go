package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A KafkaSection declares the window of a topic.
type KafkaSection struct {
	TopicSection `yaml:",inline"`

	Partitions []int    `yaml:"partitions"`
	From       position `yaml:"from"`
	To         position `yaml:"to"`
	Rows       int64    `yaml:"rows"`

	spool SpoolSection // of the section source
}

// A TopicSection declares a topic of rows and the format of its records.
type TopicSection struct {
	Topic  string `yaml:"topic"`
	Group  string `yaml:"group"`
	Format string `yaml:"format"`
	Schema string `yaml:"schema"`

	Cluster Cluster // of the section kafka
}

// A SpoolSection declares the folder of consumed rows and its size limit.
type SpoolSection struct {
	Folder string        `yaml:"folder"`
	Limit  yamlfile.Size `yaml:"limit"`
	Retain bool          `yaml:"retain"`
}

// declared reports whether the file has the section.
func (k KafkaSection) declared() bool { return !reflect.ValueOf(k).IsZero() }

// window sets the beginning and the end of a job's only window, or of the windows of a stream.
func (k KafkaSection) window(key string, config *kafkalog.Config, faults *yamlfile.Faults) {
	open := k.Rows != 0
	faults.Unless(k.Rows >= 0, key+".rows", "want the number of rows of a window, not %d", k.Rows)
	faults.Unless(!open || k.To == "", key, "rows and to both end the window; name one of them")
	config.Rows = k.Rows
	begin := broker.Earliest
	if open && k.Group != "" {
		begin = kafkalog.Committed
	}
	config.From, _ = k.From.of(begin)
	config.To, _ = k.To.of(broker.Latest)
	faults.Unless(config.To.Time != kafkalog.Committed, key+".to", "a window begins, and does not end, at what is committed")
	faults.Unless(config.From.Time != kafkalog.Committed || k.Group != "", key+".from", "committed by which group? name it under group")
	config.Group = k.Group
}

// check adds the faults of the topic and of the format of its records.
func (k TopicSection) check(key string, faults *yamlfile.Faults) {
	faults.Unless(k.Topic != "", key+".topic", "name the topic")
	faults.Unless(k.Format == "" || slices.Contains(kafkalog.Formats, k.Format), key+".format", "%q is none of "+strings.Join(kafkalog.Formats, ", "), k.Format)
	const ofAvro = "it is only for format: avro; leave it out"
	faults.Unless(k.Schema == "" || k.Format == kafkalog.FormatAvro, key+".schema", ofAvro)
	faults.Unless(k.Cluster.Registry == "" || k.Format == kafkalog.FormatAvro, "kafka.registry", ofAvro)
	faults.Unless(k.Format != kafkalog.FormatAvro || k.Schema != "" || k.Cluster.Registry != "", key+".format", "avro needs the schema of the records: declare schema, or kafka.registry")
	faults.Unless(k.Schema == "" || k.Cluster.Registry == "", key+".schema", "schema and kafka.registry are both declared; name one of them")
}

// spoolPrefix begins the names of the spools in an output directory.
const spoolPrefix = "_spool-"

// digest identifies the window among the windows of an output.
func (k KafkaSection) digest(c kafkalog.Config) string {
	return digest.OfValues(k.Topic, k.Partitions, k.From, k.To, k.Format, k.Schema, k.Cluster.Registry, k.Rows, c.Columns, c.Tolerant, c.DeadLetters)[:16]
}

// firstWindow sets the beginning of the first window of a scheduled job. The record of the schedule
// determines everything else about its windows.
func (k KafkaSection) firstWindow(key string, config *kafkalog.Config, faults *yamlfile.Faults) {
	const chosen = "the schedule chooses where each window begins and ends: leave it out"
	faults.Unless(k.To == "", key+".to", chosen)
	faults.Unless(k.Rows == 0, key+".rows", chosen)
	faults.Unless(k.Group == "", key+".group", chosen)
	config.From, _ = k.From.of(broker.Earliest)
	faults.Unless(config.From.Time != kafkalog.Committed, key+".from", "a schedule does not use the offsets of a group: leave it out, or name where the first window begins: earliest, latest or a time")
	config.To = kafkalog.Position{Time: broker.Latest}
}

// A position is the beginning or the end of a window: earliest, latest, committed, or a time.
type position string

func (p *position) Form() (yamlfile.Form, string) {
	word := schema{"type": "string", "pattern": `^(earliest|latest|committed|[0-9]{4}-[0-9]{2}-[0-9]{2}T.*)$`}
	return yamlfile.Accept(word, func(node ast.Node) bool {
		if yaml.NodeToValue(node, (*string)(p)) != nil {
			return false
		}
		_, err := p.of(broker.Earliest)
		return err == nil
	}), "want earliest, latest, or a time such as 2026-01-31T12:00:00Z; from may also be committed"
}

// of returns the position as kafkalog has it, or the time missing if p is "". Form has checked p.
func (p position) of(missing int64) (kafkalog.Position, error) {
	words := map[position]int64{"": missing, "earliest": broker.Earliest, "latest": broker.Latest, "committed": kafkalog.Committed}
	if at, ok := words[p]; ok {
		return kafkalog.Position{Time: at}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, string(p))
	if err == nil && t.UnixMilli() < 0 {
		err = errors.New("a time before 1970")
	}
	return kafkalog.Position{Time: t.UnixMilli()}, err
}
