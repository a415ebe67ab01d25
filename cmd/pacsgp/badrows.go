package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// badRowsConfig says what becomes of rows that break a row rule.
type badRowsConfig struct {
	Tolerance toleratedShare `yaml:"tolerance"`
	To        badRowsTo      `yaml:"to"`
}

// badRowsTo is where bad rows are put: a file, or a topic of dead letters.
type badRowsTo struct{ path, topic string }

const wantBadRowsTo = "want a file, as in bad.parquet, or a topic, as in {kafka: rows-dead}"

// UnmarshalYAML reads the two forms.
func (b *badRowsTo) UnmarshalYAML(node ast.Node) error {
	if pairs := entries(node); len(pairs) > 0 {
		for _, pair := range pairs {
			name, ok := pair.Value.(*ast.StringNode)
			if pair.Key.GetToken().Value != "kafka" || !ok || b.topic != "" {
				return fault(pair, wantBadRowsTo)
			}
			b.topic = name.Value
		}
		return nil
	}
	if _, ok := node.(*ast.StringNode); !ok {
		return fault(node, wantBadRowsTo)
	}
	return yaml.NodeToValue(node, &b.path)
}

// toleratedShare is a share of the rows, as in 0.1 % or 0.001.
type toleratedShare float64

const wantTolerance = "want the largest share of rows that may be bad, as in 0.1 % or 0.001"

// UnmarshalYAML reads the two forms.
func (s *toleratedShare) UnmarshalYAML(node ast.Node) error {
	if node.Type() == ast.NullType {
		return nil
	}
	var text string
	if err := yaml.NodeToValue(node, &text); err != nil {
		return fault(node, wantTolerance)
	}
	share, err := shareOf(text)
	if err != nil {
		return fault(node, wantTolerance)
	}
	if !(share < 1) {
		return fault(node, text+" of the rows would leave none: "+wantTolerance)
	}
	*s = toleratedShare(share)
	return nil
}

// A quarantine is the Parquet file that bad rows are put into.
type quarantine struct {
	w    system
	path string
	read []string // files that it must not replace
}

// Put writes the file anew.
func (q quarantine) Put(_ context.Context, columns []string, shards []pipeline.Shard, each func(func(pipeline.BadRow) error) error) error {
	tidy(q.w, q.path)
	file, err := newFile(q.w, q.path, q.read)
	if err != nil {
		return err
	}
	defer file.Abort()
	out := sink.NewBadRows(file, columns)
	if err := each(func(r pipeline.BadRow) error { return out.Write(shards[r.Shard], r) }); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("%s: %w", q.path, err)
	}
	return file.Commit()
}

// deadLetters is the topic that the records of bad rows are sent to.
type deadLetters struct {
	origin *kafkaOrigin
	topic  string
}

// Put sends the records that the spool has kept: all that are bad in a column that is
// spooled, which are those of the job and of all its alternatives.
func (d deadLetters) Put(ctx context.Context, _ []string, _ []pipeline.Shard, _ func(func(pipeline.BadRow) error) error) (err error) {
	client, err := d.origin.cluster().client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	window := d.origin.window
	text, err := json.Marshal([]any{d.topic, window.Segments, d.origin.config.Columns})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	return kafkalog.DeadLetters{
		Client: client, Topic: d.topic, ID: hex.EncodeToString(sum[:8]), Source: d.origin.Topic, Ends: window.Ends,
	}.Put(ctx, window.Letters)
}

// quarantine is where the job's bad rows go, or nil.
func (p prepared) quarantine(w system, from pipeline.Opened) pipeline.Quarantine {
	if origin, ok := p.source.(*kafkaOrigin); ok && origin.letters != "" {
		return deadLetters{origin: origin, topic: origin.letters}
	}
	if p.badRows == "" {
		return nil
	}
	q := quarantine{w: w, path: p.badRows}
	for _, f := range from.Files() {
		q.read = append(q.read, f.Path)
	}
	return q
}
