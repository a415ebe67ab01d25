package config

import (
	"time"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// scheduled is a job as a scheduler runs it.
func scheduled(of ScheduledJob, t Task, fsys durable.FS, software string) *ScheduledTask {
	j := &schedule.Job{
		Name: of.Name, Job: t.Job, Output: t.Destination(fsys),
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
		j.Lake = ingestlake.Listing{Paths: ingestlake.Rows(from), Folder: t.Folder}
	case *Topic:
		j.Topic = from
	}
	return &ScheduledTask{Job: j, Task: t, Time: time.Duration(of.Time)}
}

// Name is the topic's.
func (k *Topic) Name() string { return k.Topic }

// AtLatest reports whether the first window of a schedule begins at the latest offset.
func (k *Topic) AtLatest() bool {
	from := k.Config.From
	return from.Offsets == nil && from.Time == broker.Latest
}

// Digest identifies a window and the reading of its records.
func (k *Topic) Digest(w pipeline.TopicWindow) string { return digest.OfValues(w, k.digest(k.Config)) }

// Rows are the rows of a frozen window.
func (k *Topic) Rows(w pipeline.TopicWindow) dataset.Rows { return k.within(w) }

// Discard removes the spool of a window, unless the job keeps it.
func (k *Topic) Discard(w pipeline.TopicWindow) error {
	if k.spool.Keep {
		return nil
	}
	return kafkalog.Remove(k.within(w).Config.Folder)
}

// away is a temporary error of brokers.
type away struct{ error }

// Unwrap is the error, and [schedule.ErrAway].
func (a away) Unwrap() []error { return []error{a.error, schedule.ErrAway} }
