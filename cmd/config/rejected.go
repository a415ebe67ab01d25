package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A rejects is the file of a task's rejected rows, or their topic.
type rejects struct {
	task    Task
	fs      durable.FS
	warning func(string)
	read    []string // files that it must not replace
}

// Rejects is the destination of the rejected rows of a source.
func (q rejects) Rejects(from dataset.Opened) dataset.Rejects {
	if topic := q.task.DeadLetters(); topic != nil {
		return topic
	}
	for _, f := range from.Files() {
		q.read = append(q.read, f.Path)
	}
	return q
}

// Kept reports whether the file is there; that of a topic goes with a publisher.
func (q rejects) Kept() bool {
	_, err := os.Stat(q.task.Rejected)
	return err == nil
}

// Put replaces the file.
func (q rejects) Put(_ context.Context, columns []string, shards []dataset.Shard, each func(func(dataset.RejectedRow) error) error) error {
	if err := q.fs.MkdirAll(filepath.Dir(q.task.Rejected)); err != nil {
		return err
	}
	file, err := NewFile(q.fs, q.task.Rejected, q.read, q.warning)
	if err != nil {
		return err
	}
	defer file.Abort()
	out := sink.NewRejectedRows(file, columns)
	if err := each(func(r dataset.RejectedRow) error { return out.Write(shards[r.Shard], r) }); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("%s: %w", q.task.Rejected, err)
	}
	return file.Commit()
}

// deadLetters is the topic for records of rejected rows.
type deadLetters struct {
	origin *Topic
	topic  string
}

// DeadLetters is the topic for records of rejected rows, or nil.
func (p Task) DeadLetters() dataset.Rejects {
	if origin, ok := p.Source.(*Topic); ok && origin.DeadLetters != "" {
		return deadLetters{origin: origin, topic: origin.DeadLetters}
	}
	return nil
}

// Put sends the records that the spool has kept: those with a bad value in a column of the job
// or of an alternative.
func (d deadLetters) Put(ctx context.Context, _ []string, _ []dataset.Shard, _ func(func(dataset.RejectedRow) error) error) (err error) {
	client, err := d.origin.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	window := d.origin.frozen
	cfg := kafkalog.DeadLettersConfig{Client: client, Topic: d.topic, ID: digest.OfValues(d.topic, window.Segments, d.origin.Config.Columns)[:16], Source: d.origin.Topic}
	return kafkalog.PutDeadLetters(ctx, cfg, window.Ends, window.DeadLetters)
}
