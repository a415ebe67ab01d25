package main

import (
	"context"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

// badRowsConfig says what becomes of rows that break a row rule.
type badRowsConfig struct {
	Tolerance toleratedShare `yaml:"tolerance"`
	To        string         `yaml:"to"`
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
	if err != nil || !(share < 1) {
		return fault(node, wantTolerance)
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

// quarantine is where the job's bad rows go, or nil.
func (p prepared) quarantine(w system, from rows) pipeline.Quarantine {
	if p.badRows == "" {
		return nil
	}
	q := quarantine{w: w, path: p.badRows}
	for _, f := range from.Files() {
		q.read = append(q.read, f.Path)
	}
	return q
}
