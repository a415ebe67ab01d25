package config

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// An Origin is the origin of rows: the section source of a job, or the arguments DATA of a
// command. A new one is a type, and a case in origin.
type Origin interface {
	dataset.Rows
	// Finds returns the declared path by which a later opening would read this file, or "".
	Finds(path string) string
	// Arguments name these rows on a command line.
	Arguments() []string
	// Replay is the origin of the rows of a certificate.
	Replay(c certify.Certificate) (Origin, error)
}

// A Source is opened rows with facts about their columns, for a plan.
type Source interface {
	dataset.Opened
	// Statistics returns those of the columns by the footers.
	Statistics(ctx context.Context) ([]ColumnStatistics, error)
}

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
	relativePaths(folder, s.Kafka.files(), []*string{&s.Spool.Folder})
}

// origin is the origin that the section declares for a job.
func (s SourceSection) origin(job job.Job, output string, faults *yamlfile.Faults) Origin {
	if s.Kafka.declared() {
		faults.Unless(len(s.Paths) == 0, "source", "paths and kafka are both declared; name one of them")
		return s.topic(job, output, faults)
	}
	faults.Unless(s.deadLetters == "", "rejected.to", "a topic takes records of a topic, and the rows come from files; name a file")
	faults.Unless(s.Spool == (SpoolSection{}), "source.spool", "it is for rows of a topic, and these are in files")
	faults.Unless(len(s.Paths) > 0, "source.paths", "name files, directories or globs of Parquet files")
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

// A Lake lists the files, directories and globs of a Parquet lake.
type Lake []string

// Open opens the files.
func (l Lake) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	return ingestlake.Rows(l).Open(ctx, want)
}

// A listed lake has the files of its first opening: one that comes while a model is trained belongs to no
// pass.
type listed struct {
	Lake
	files Lake
}

// Open opens the files.
func (l *listed) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	if l.files != nil {
		return l.files.Open(ctx, want)
	}
	src, err := l.Lake.Open(ctx, want)
	if err == nil {
		for _, f := range src.Files() {
			l.files = append(l.files, f.Path)
		}
	}
	return src, err
}

// Rows are the rows of a run.
func (p Task) Rows() dataset.Rows {
	if l, ok := p.Source.(Lake); ok {
		return &listed{Lake: l}
	}
	return p.Source
}

// Finds returns the path by which a later opening would read this file, or "".
func (l Lake) Finds(path string) string { return ingestlake.Finds(l, path) }

// Arguments name these rows on a command line.
func (l Lake) Arguments() []string { return l }

// Replay is the origin of the rows of a certificate.
func (l Lake) Replay(certify.Certificate) (Origin, error) { return l, nil }

// Release does nothing: files are only read.
func (l Lake) Release(bool) error { return nil }
