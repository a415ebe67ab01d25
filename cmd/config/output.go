package config

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
	"github.com/pacsgp/pacsgp/sink/report"
)

// Destination returns the output of the task.
func (p Task) Destination(fsys durable.FS) *Output {
	out := OutputIn(p.Output, fsys)
	out.Sign = p.Sign
	return out
}

// Into returns the task with another job, other rows and another output.
func (p Task) Into(job job.Job, rows dataset.Rows, out pipeline.Output) (Task, *Output) {
	to, _ := out.(*Output)
	p.Job, p.Output = job, to.Folder()
	switch rows := rows.(type) {
	case ingestlake.Rows:
		p.Source = Lake{rows}
	case Origin:
		p.Source = rows
	}
	return p, to
}

// Warnings returns warnings about the output before a run.
func (p Task) Warnings() (said []string) {
	if _, err := os.Stat(filepath.Join(p.Output, schedule.StateFile)); err == nil && p.Job.Numbering == nil {
		at, _ := OutputIn(p.Output, durable.OS{}).Current() // nil if none is known
		said = append(said, fmt.Sprintf("%s is the output of a schedule: a certificate of train is not part of its sequence, and becomes current whatever promote says; pacsgp promote %.12s %[1]s makes the other one current again", p.Output, cmp.Or(at, &pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: "ID"}}).ID))
	}
	if topic, ok := p.Source.(*Topic); ok {
		if left := topic.others(p.Output); len(left) > 0 {
			said = append(said, fmt.Sprintf("spools of other windows, left by failed runs, are in %s: remove them unless a run is to resume them", strings.Join(left, ", ")))
		}
	}
	return said
}

// RunConfig returns the limits and resources for runs of the task.
func (p Task) RunConfig() pipeline.RunConfig {
	return pipeline.RunConfig{
		Required: p.Require.Of, Limit: p.Require.Limit, Retain: p.Retain, Folder: p.Folder, Resources: p.Resources, Located: p.Located,
	}
}

// KeepingRejectedRows is RunConfig with the destination of rejected rows. A file is written through fsys.
func (p Task) KeepingRejectedRows(fsys durable.FS) pipeline.RunConfig {
	how := p.RunConfig()
	if p.Rejected.To.path != "" || p.DeadLetters() != nil {
		how.Rejected = rejects{task: p, fs: fsys}
	}
	return how
}

// Rows returns the rows of a run.
func (p Task) Rows() dataset.Rows {
	if l, ok := p.Source.(Lake); ok {
		return &listed{Lake: l}
	}
	return p.Source
}

// Report returns a function that writes the plot and the record of a run into an output.
func Report(out *Output) func(*pipeline.Outcome) error {
	return func(o *pipeline.Outcome) error {
		r := o.Result
		figure := report.Figure{Certificate: r.Certificate, Steps: r.Training.Trace, Observed: r.PlotRows.Observed, Predicted: r.PlotRows.Mean}
		var plot bytes.Buffer
		if err := figure.WritePNG(&plot); err != nil {
			return err
		}
		return out.PutReport(o.Record, plot.Bytes())
	}
}

// A rejects is the file of a task's rejected rows.
type rejects struct {
	task  Task
	fs    durable.FS
	read  []string // files that it must not replace
	texts []string // columns whose numbers are hashes of texts
}

// Rejects returns the destination of the rejected rows of a source: a file or a topic.
func (q rejects) Rejects(from dataset.Opened) dataset.Rejects {
	if topic := q.task.DeadLetters(); topic != nil {
		return topic
	}
	q.read = Paths(from)
	for i, m := range from.Meanings() {
		if m == job.MeansText {
			q.texts = append(q.texts, from.Columns()[i])
		}
	}
	return q
}

// Kept reports whether the file exists. Only a file is asked for this, not a topic.
func (q rejects) Kept() bool {
	_, err := os.Stat(q.task.Rejected.To.path)
	return err == nil
}

func (q rejects) Put(_ context.Context, columns []string, shards []dataset.Shard, each func(func(dataset.RejectedRow) error) error) error {
	if err := q.fs.MkdirAll(filepath.Dir(q.task.Rejected.To.path)); err != nil {
		return err
	}
	return WriteFile(q.fs, q.task.Rejected.To.path, q.read, func(to io.Writer) error {
		out := sink.NewRejectedRows(to, columns, q.texts)
		if err := each(func(r dataset.RejectedRow) error { return out.Write(shards[r.Shard], r) }); err != nil {
			return err
		}
		return out.Close()
	})
}

// deadLetters is the topic for the records of rejected rows of another topic.
type deadLetters struct{ *Topic }

// DeadLetters returns the topic for records of rejected rows, or nil.
func (p Task) DeadLetters() dataset.Rejects {
	if origin, ok := p.Source.(*Topic); ok && origin.DeadLetters != "" {
		return deadLetters{origin}
	}
	return nil
}

// Put sends the records with rejected rows that are in the spool: those with a bad value in a
// column of the job or of an alternative.
func (d deadLetters) Put(ctx context.Context, _ []string, _ []dataset.Shard, _ func(func(dataset.RejectedRow) error) error) (err error) {
	client, err := d.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	window := d.frozen
	cfg := kafkalog.DeadLettersConfig{Client: client, Topic: d.DeadLetters, ID: digest.OfValues(d.DeadLetters, window.Segments, d.Config.Columns)[:16], Source: d.Topic.Topic}
	return kafkalog.PutDeadLetters(ctx, cfg, window.Ends, window.DeadLetters)
}
