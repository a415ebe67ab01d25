package config

import (
	"context"
	"time"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// scheduled is a job as a scheduler runs it.
func scheduled(of ScheduledJob, t Task, fsys durable.FS, software string) *ScheduledTask {
	out := t.Destination(fsys)
	j := &schedule.Job{
		Name: of.Name, Job: t.Job, Output: out,
		Files:   schedule.Files{Which: of.Files.Which, Last: time.Duration(of.Files.Last), Key: of.Files.Key},
		Retries: of.Retries, Backoff: time.Duration(of.Backoff),
		Promote:  of.Promote.rule(),
		Required: t.Require.Of, Software: software, Elsewhere: t.PublishTo != nil, How: t.RunConfig(),
	}
	for _, trigger := range of.Triggers {
		j.Triggers = append(j.Triggers, trigger.due())
	}
	switch from := t.Source.(type) {
	case Lake:
		j.Lake = scheduledLake{ingestlake.Listing{Paths: ingestlake.Rows(from), Folder: t.Folder}}
	case *Topic:
		j.Topic = scheduledTopic{from, t.Output}
	}
	return &ScheduledTask{Job: j, Task: t, Out: out, Time: time.Duration(of.Time)}
}

// A scheduledLake is a lake whose rows are an [Origin].
type scheduledLake struct{ ingestlake.Listing }

// Rows are the rows of some files.
func (l scheduledLake) Rows(files []schedule.File) dataset.Rows {
	return Lake(l.Listing.Rows(files).(ingestlake.Rows))
}

// A scheduledTopic is the topic of a job with spools in its output.
type scheduledTopic struct {
	of     *Topic
	output string
}

// Name is the topic's.
func (k scheduledTopic) Name() string { return k.of.Topic }

// AtLatest reports whether the first window begins at the latest offset.
func (k scheduledTopic) AtLatest() bool {
	from := k.of.Config.From
	return from.Offsets == nil && from.Time == broker.Latest
}

// Next is the window of a run that begins now.
func (k scheduledTopic) Next(ctx context.Context, before *pipeline.Windows, patience time.Duration) (pipeline.TopicWindow, error) {
	w, err := k.of.next(ctx, before, patience)
	if err != nil && broker.Temporary(err) {
		err = away{err}
	}
	return w, err
}

// Digest identifies a window and the reading of its records.
func (k scheduledTopic) Digest(w pipeline.TopicWindow) string {
	return digestOfAll(w, k.of.digest(k.of.Config))
}

// Rows are the rows of a frozen window.
func (k scheduledTopic) Rows(w pipeline.TopicWindow) dataset.Rows {
	return k.of.within(w, k.output)
}

// Discard removes the spool of a window, unless the job keeps it.
func (k scheduledTopic) Discard(w pipeline.TopicWindow) error {
	if k.of.spool.Keep {
		return nil
	}
	return kafkalog.Remove(k.of.within(w, k.output).Config.Folder)
}

// away is a temporary error of brokers.
type away struct{ error }

// Unwrap is the error, and [schedule.ErrAway].
func (a away) Unwrap() []error { return []error{a.error, schedule.ErrAway} }
