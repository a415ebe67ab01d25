package kafkalog

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/stream"
)

// Windows are the spools of consecutive windows of a topic.
type Windows struct {
	Config Config // for all windows; Fill sets From, Folder and the callbacks
	// Folder returns the folder for the spool of window n.
	Folder func(n int64) string
	// Rows returns the rows of a window that is spooled in a folder.
	Rows func(w *Window, folder string) dataset.Rows
}

var _ stream.Windows = (*Windows)(nil)

// Fill consumes window n into its folder. The window begins at the end of the window behind or, if
// behind is nil, at the offsets of the group.
func (s *Windows) Fill(ctx context.Context, n int64, behind *stream.Window, fills func(rows int64) func(rows int64)) (*stream.Window, error) {
	cfg := s.Config
	var ends map[int]int64
	if behind != nil {
		ends = map[int]int64{}
		for _, p := range behind.Partitions {
			ends[p.Partition] = p.End
		}
	}
	var err error
	if cfg.From, err = cfg.Following(ctx, ends); err != nil {
		return nil, err
	}
	if len(cfg.Partitions) == 0 { // new partitions come with the next window, from their earliest offsets
		cfg.Partitions = slices.Sorted(maps.Keys(cfg.From.Offsets))
	}
	var progress func(rows int64)
	cfg.Folder = s.Folder(n)
	cfg.fills = func(rows int64) func(rows int64) {
		progress = fills(rows)
		return progress
	}
	w, err := Spool(ctx, cfg)
	if _, other := errors.AsType[otherWindow](err); other {
		return nil, stream.ErrOther
	}
	if err != nil {
		return nil, err
	}
	progress(w.Rows()) // Spool may not have reported the last rows
	of := pipeline.TopicWindow{Topic: cfg.Topic, Identity: pipeline.TopicIdentity(w.Identity)}
	for _, p := range slices.Sorted(maps.Keys(w.Ends)) {
		of.Partitions = append(of.Partitions, pipeline.WindowPart{Partition: p, First: w.Firsts[p], End: w.Ends[p]})
	}
	return &stream.Window{TopicWindow: of, N: n, Segments: w.Segments, Rows: s.Rows(w, cfg.Folder)}, nil
}

// Discard removes the folder of window n.
func (s *Windows) Discard(n int64) error {
	s.Config.Quota.Release(s.Folder(n))
	return os.RemoveAll(s.Folder(n))
}
