package kafkalog

import (
	"context"
	"os"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/stream"
)

// Windows are spools, each behind the one before.
type Windows struct {
	Config Config // of all windows, but for From, Folder and who is told
	// Folder is that of the spool of window n.
	Folder func(n int64) string
	// Rows opens what a folder has.
	Rows func(w *Window, folder string) pipeline.Rows
}

var _ stream.Windows = (*Windows)(nil)

// rounds is the number of parts in which early training sees a window. Its work on the last part
// is left when the window is full, and each part is a file a partition.
const rounds = 16

// Fill consumes a window into its folder.
func (s *Windows) Fill(ctx context.Context, n int64, behind *stream.Window, told stream.Filling) (*stream.Window, error) {
	cfg := s.Config
	var ends map[int]int64
	if behind != nil {
		ends = behind.Ends
	}
	var err error
	if cfg.From, err = cfg.Following(ctx, ends); err != nil {
		return nil, err
	}
	cfg.Folder = s.Folder(n)
	held, ours, err := cfg.Holds()
	if err != nil {
		return nil, err
	}
	if !ours {
		return nil, stream.ErrOther
	}
	cfg.Progress = told.Begins(held)
	if told.Early != nil {
		cfg.Round, cfg.Stored = max(1, cfg.Rows/rounds), func(w *Window) { told.Early(s.window(n, cfg.Folder, w)) }
	}
	w, err := Spool(ctx, cfg)
	if err != nil {
		return nil, err
	}
	cfg.Progress(w.Rows()) // of a window that closes by time the last ones were not told
	return s.window(n, cfg.Folder, w), nil
}

func (s *Windows) window(n int64, folder string, w *Window) *stream.Window {
	return &stream.Window{N: n, Of: pipeline.TopicIdentity(w.Identity), Segments: w.Segments, Firsts: w.Firsts, Ends: w.Ends, Rows: s.Rows(w, folder)}
}

// Discard removes a spool with all that is in its folder.
func (s *Windows) Discard(n int64) error {
	s.Config.Quota.Release(s.Folder(n))
	return os.RemoveAll(s.Folder(n))
}
