package main

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

// A quarantine is the Parquet file that bad rows are put into.
type quarantine struct {
	w    system
	path string
	read []string // files that it must not replace
}

// Put writes the file anew.
func (q quarantine) Put(_ context.Context, columns []string, shards []pipeline.Shard, each func(func(pipeline.BadRow) error) error) error {
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
func (p prepared) quarantine(w system, from pipeline.Opened) pipeline.Quarantine {
	if letters := p.DeadLetters(); letters != nil {
		return letters
	}
	if p.BadRows == "" {
		return nil
	}
	q := quarantine{w: w, path: p.BadRows}
	for _, f := range from.Files() {
		q.read = append(q.read, f.Path)
	}
	return q
}
