package config

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// ColumnStatistics are those of a column.
type ColumnStatistics = ingestlake.ColumnStatistics

// maxPaths bounds the declared paths: the files of each are listed several times.
const maxPaths = 10_000

// Form is a path or a list of some.
func (s *SourceSection) Form() (yamlfile.Form, string) { return s.Paths.Form() }

// relativeTo makes relative paths relative to a folder.
func (s *SourceSection) relativeTo(folder string) {
	for i := range s.Paths {
		relativePaths(folder, []*string{&s.Paths[i]})
	}
	relativePaths(folder, []*string{&s.Kafka.Schema, &s.Spool.Folder})
}

// origin is the origin that the section declares for a job.
func (s SourceSection) origin(job job.Job, output string, faults *yamlfile.Faults) Origin {
	if s.Kafka.declared() {
		faults.Unless(len(s.Paths) == 0, "source", "paths and kafka are both declared; name one of them")
		return s.topic(job, output, faults)
	}
	faults.Unless(s.deadLetters == "", "rejected.to", "a topic takes records of a topic, and the rows come from files; name a file")
	faults.Unless(s.Spool == (SpoolSection{}), "source.spool", "it is for rows of a topic, and these are in files")
	faults.Unless(len(s.Paths) > 0, "source.paths", "name Parquet or Arrow files, directories or globs")
	if len(s.Paths) > maxPaths {
		faults.Add("source.paths", "%d paths, want at most "+strconv.Itoa(maxPaths)+"; name folders or globs", len(s.Paths))
		return Lake(nil)
	}
	for i, path := range s.Paths {
		if shown, err := ingestlake.CheckPath(path); err != nil {
			faults.Add(fmt.Sprintf("source.paths[%d]", i), "%s: "+err.Error(), shown)
		}
	}
	return Lake(s.Paths)
}

// OriginOf is the origin that arguments DATA name.
func OriginOf(arguments []string) (Origin, error) {
	for _, path := range arguments {
		if shown, err := ingestlake.CheckPath(path); err != nil {
			return nil, Argument(fmt.Errorf("%s: %w", shown, err))
		}
	}
	return Lake(arguments), nil
}

// MakeTemporary gives a spooled origin a temporary folder. asked: the spool has the columns that
// are asked for first; else those of the job.
func MakeTemporary(from Origin, asked bool) {
	topic, ok := from.(*Topic)
	if !ok {
		return
	}
	if topic.temporary = true; asked {
		topic.Config.Columns = nil
	}
}

// OpenData opens an origin for a check of a certificate.
func OpenData(from Origin, res job.Resources) dataset.OpenData {
	return func(ctx context.Context, want dataset.Choice) (dataset.Source, error) {
		want.Decoders, want.Pages = res.Workers, res.PageMemory()
		return from.Open(ctx, want)
	}
}

// topic is the window of a topic for a job.
func (s SourceSection) topic(job job.Job, output string, faults *yamlfile.Faults) Origin {
	const key = "source.kafka"
	k := s.Kafka
	k.spool = s.Spool
	k.check(key, faults)
	config := kafkalog.Config{
		Topic: k.Topic, Partitions: k.Partitions, Format: k.Format, Tolerant: job.Rejected.Some(), Encoded: job.Encode, Limit: int64(s.Spool.Limit),
	}
	if s.scheduled {
		k.firstWindow(key, &config, faults)
	} else {
		k.window(key, &config, faults)
	}
	faults.Unless(s.deadLetters == "" || s.deadLetters != k.Topic, "rejected.to", "%s is the topic of the rows; name another topic", s.deadLetters)
	config.DeadLetters = s.deadLetters != ""
	config.Columns = spooledColumns(job, faults)
	config.Folder = s.Spool.Folder
	if config.Folder == "" {
		config.Folder = filepath.Join(output, spoolPrefix+k.digest(config))
	}
	return &Topic{KafkaSection: k, Config: config, file: s.file, DeadLetters: s.deadLetters}
}

// spooledColumns are the features and the target of a job.
func spooledColumns(job job.Job, faults *yamlfile.Faults) (columns []string) {
	faults.Unless(job.Features != nil, "features", "name them, because the records of a topic need not all have the same members")
	for _, name := range slices.Concat(job.Features, job.NotAFeature(), []string{job.Target}) {
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	return columns
}

// A SourceSection declares the origin of rows: files or a topic.
type SourceSection struct {
	Paths yamlfile.Paths `yaml:"paths"`
	Kafka KafkaSection   `yaml:"kafka"`
	Spool SpoolSection   `yaml:"spool"` // of the topic

	file        string // with the section
	deadLetters string // topic for records of rejected rows, or ""
	scheduled   bool   // a schedule sets the windows of the topic
}
