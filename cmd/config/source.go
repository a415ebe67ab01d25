package config

import (
	"cmp"
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

// ColumnStatistics are the statistics of a column.
type ColumnStatistics = ingestlake.ColumnStatistics

// maxPaths bounds how many paths are declared, since the files of each are listed several times.
const maxPaths = 10_000

// Form returns the form of one or more paths.
func (s *SourceSection) Form() (yamlfile.Form, string) { return s.Paths.Form() }

func (s *SourceSection) relativeTo(folder string) {
	for i := range s.Paths {
		relativePaths(folder, &s.Paths[i])
	}
	relativePaths(folder, &s.Kafka.Schema, &s.Spool.Folder)
}

// origin returns the origin of rows that the section declares for a job, and adds its faults.
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
		return Lake{}
	}
	for i, path := range s.Paths {
		if shown, err := ingestlake.CheckPath(path); err != nil {
			faults.Add(fmt.Sprintf("source.paths[%d]", i), "%s: "+err.Error(), shown)
		}
	}
	return Lake{ingestlake.Rows(s.Paths)}
}

// OriginOf returns the origin that the arguments DATA name.
func OriginOf(arguments []string) (Origin, error) {
	for _, path := range arguments {
		if shown, err := ingestlake.CheckPath(path); err != nil {
			return nil, Argument(fmt.Errorf("%s: %w", shown, err))
		}
	}
	return Lake{arguments}, nil
}

// MakeTemporary gives a spooled origin a temporary folder. If asked is set, the spool has the
// columns that the first Open asks for, otherwise those of the job.
func MakeTemporary(from Origin, asked bool) {
	topic, ok := from.(*Topic)
	if !ok {
		return
	}
	if topic.temporary = true; asked {
		topic.Config.Columns = nil
	}
}

// OpenData returns a function that opens an origin to check a certificate.
func OpenData(from Origin, res job.Resources) dataset.OpenData {
	return func(ctx context.Context, want dataset.Choice) (dataset.Source, error) {
		want.Decoders, want.Pages = res.Workers, res.PageMemory()
		return from.Open(ctx, want)
	}
}

// topic returns the window of a topic for a job.
func (s SourceSection) topic(job job.Job, output string, faults *yamlfile.Faults) Origin {
	const key = "source.kafka"
	k := s.Kafka
	k.spool = s.Spool
	k.check(key, faults)
	config := kafkalog.Config{
		Topic: k.Topic, Partitions: k.Partitions, Format: k.Format, Tolerant: job.Rejected.Some(), Encoded: job.Encode, Limit: int64(s.Spool.Limit), DeadLetters: s.deadLetters != "",
	}
	if s.scheduled {
		k.firstWindow(key, &config, faults)
	} else {
		k.window(key, &config, faults)
	}
	faults.Unless(s.deadLetters == "" || s.deadLetters != k.Topic, "rejected.to", "%s is the topic of the rows; name another topic", s.deadLetters)
	config.Columns = spooledColumns(job, faults)
	config.Folder = cmp.Or(s.Spool.Folder, filepath.Join(output, spoolPrefix+k.digest(config)))
	return &Topic{KafkaSection: k, Config: config, file: s.file, DeadLetters: s.deadLetters}
}

// spooledColumns returns the columns that a job needs: features, target and those of other keys.
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

	file        string // the file that has the section
	deadLetters string // topic for records of rejected rows; "" for none
	scheduled   bool   // a schedule sets the windows of the topic
}
