package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// badRowsConfig declares the treatment of rows that break a row rule.
type badRowsConfig struct {
	Tolerance toleratedShare `yaml:"limit"`
	To        badRowsTo      `yaml:"to"`
}

// badRowsTo is the destination of bad rows: a file, or a topic of dead letters.
type badRowsTo struct{ path, topic string }

const wantBadRowsTo = "want a file, as in bad.parquet, or a topic, as in {kafka: rows-dead}"

// UnmarshalYAML reads the two forms.
func (b *badRowsTo) UnmarshalYAML(node ast.Node) error {
	if pairs := yamlfile.Entries(node); len(pairs) > 0 {
		for _, pair := range pairs {
			name, ok := pair.Value.(*ast.StringNode)
			if pair.Key.GetToken().Value != "kafka" || !ok || b.topic != "" {
				return yamlfile.At(pair, wantBadRowsTo)
			}
			b.topic = name.Value
		}
		return nil
	}
	if _, ok := node.(*ast.StringNode); !ok {
		return yamlfile.At(node, wantBadRowsTo)
	}
	return yaml.NodeToValue(node, &b.path)
}

// toleratedShare is a share of the rows, as in 0.1 % or 0.001.
type toleratedShare float64

const wantTolerance = "want the largest share of rows that may be rejected, as in 0.1 % or 0.001"

// UnmarshalYAML reads the two forms.
func (s *toleratedShare) UnmarshalYAML(node ast.Node) error {
	share, text, err := shareAt(node)
	if err != nil {
		return yamlfile.At(node, wantTolerance)
	}
	if !(share < 1) {
		return yamlfile.At(node, text+" of the rows would leave none: "+wantTolerance)
	}
	*s = toleratedShare(share)
	return nil
}

// A quarantine is the file of a task's bad rows, or their topic.
type quarantine struct {
	task    Task
	fs      durable.FS
	warning func(string)
	read    []string // files that it must not replace
}

// Quarantine is the destination of the bad rows of a source.
func (q quarantine) Quarantine(from dataset.Opened) dataset.Quarantine {
	if letters := q.task.DeadLetters(); letters != nil {
		return letters
	}
	for _, f := range from.Files() {
		q.read = append(q.read, f.Path)
	}
	return q
}

// Kept reports whether the file is there; that of a topic goes with a publisher.
func (q quarantine) Kept() bool {
	_, err := os.Stat(q.task.BadRows)
	return err == nil
}

// Put replaces the file.
func (q quarantine) Put(_ context.Context, columns []string, shards []dataset.Shard, each func(func(dataset.BadRow) error) error) error {
	if err := q.fs.MkdirAll(filepath.Dir(q.task.BadRows)); err != nil {
		return err
	}
	file, err := NewFile(q.fs, q.task.BadRows, q.read, q.warning)
	if err != nil {
		return err
	}
	defer file.Abort()
	out := sink.NewBadRows(file, columns)
	if err := each(func(r dataset.BadRow) error { return out.Write(shards[r.Shard], r) }); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("%s: %w", q.task.BadRows, err)
	}
	return file.Commit()
}

// deadLetters is the topic for records of bad rows.
type deadLetters struct {
	origin *Topic
	topic  string
}

// DeadLetters is the topic for records of bad rows, or nil.
func (p Task) DeadLetters() dataset.Quarantine {
	if origin, ok := p.Source.(*Topic); ok && origin.Letters != "" {
		return deadLetters{origin: origin, topic: origin.Letters}
	}
	return nil
}

// Put sends the records that the spool has kept: those with a bad value in a column of the job
// or of an alternative.
func (d deadLetters) Put(ctx context.Context, _ []string, _ []dataset.Shard, _ func(func(dataset.BadRow) error) error) (err error) {
	client, err := d.origin.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	window := d.origin.frozen
	text, err := json.Marshal([]any{d.topic, window.Segments, d.origin.Config.Columns})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	return kafkalog.DeadLetters{
		Client: client, Topic: d.topic, ID: hex.EncodeToString(sum[:8]), Source: d.origin.Topic, Ends: window.Ends,
	}.Put(ctx, window.Letters)
}
