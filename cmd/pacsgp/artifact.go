package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// fileSystem is what files are written through.
type fileSystem = durable.FS

// realFiles is the file system of the machine.
func realFiles() fileSystem { return durable.OS{} }

// maxHandover bounds a handover, whose longest part is a line for each step of training.
const maxHandover = 64 << 20

// A handedOver is what train --no-pass left in an output directory.
type handedOver struct {
	*pipeline.Handover
	folder string
}

// readHandover reads what was left there for a job.
func readHandover(folder string, job pipeline.Job) (handedOver, error) {
	path := filepath.Join(folder, sinklake.HandoverFile)
	data, err := durable.ReadSmall(path, "a handover", maxHandover)
	if errors.Is(err, fs.ErrNotExist) {
		return handedOver{}, fmt.Errorf("%w\nhint: the last pass of a job goes on from pacsgp train --no-pass, in the same output directory", err)
	}
	if err != nil {
		return handedOver{}, err
	}
	h, err := pipeline.ParseHandover(data)
	if err == nil {
		err = h.Of(job)
	}
	if err != nil {
		return handedOver{}, fmt.Errorf("%s: %w", path, err)
	}
	return handedOver{h, folder}, nil
}

// files are the paths of the handover.
func (h handedOver) files() []string {
	return []string{filepath.Join(h.folder, sinklake.HandoverModel), filepath.Join(h.folder, sinklake.HandoverFile)}
}

// model reads the trained model back from its file.
func (h handedOver) model(ctx context.Context) (pipeline.Model, error) {
	path := filepath.Join(h.folder, sinklake.HandoverModel)
	m, found, err := config.ReadModel(ctx, path)
	if err == nil && found != h.Model {
		err = fmt.Errorf("%s: %w: its SHA-256 is %s, not %s", path, pipeline.ErrChanged, found, h.Model)
	}
	return m, err
}

// sink is one that gives the trained model and takes nothing.
func (h handedOver) sink() pipeline.Sink { return trainedModel{from: h} }

type trainedModel struct {
	pipeline.Sink // none: nothing is published
	from          handedOver
}

// GetModel reads the model back from its file.
func (t trainedModel) GetModel(ctx context.Context, _ string) (pipeline.Model, error) {
	return t.from.model(ctx)
}

// newFile begins a file that nobody sees until its Commit. reading are the files that
// the command reads, from the data. It says what a user should know of the folder, and
// removes what killed commands left there.
func newFile(w system, path string, reading []string) (*durable.Pending, error) {
	if err := mayReplace(path, reading); err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	if text := durable.SyncNotice(w.fs, folder); text != "" {
		_, _ = fmt.Fprintln(w.stderr, "pacsgp: note:", text)
	}
	if err := durable.Sweep(w.fs, folder); err != nil { // no reason not to write
		_, _ = fmt.Fprintln(w.stderr, "pacsgp: note:", err)
	}
	return durable.Create(w.fs, path)
}

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
