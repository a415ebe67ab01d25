package kafkalog

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Window has the spooled rows of a frozen window.
type Window struct {
	Segments []dataset.Segment // the shards, in order
	paths    []string          // of the shards' files
	Firsts   map[int]int64     // by partition: the offset at which the window begins; empty for a replay
	Ends     map[int]int64     // by partition: the offset after the window; empty for a replay
	Identity broker.Identity   // of the topic; zero for a replay, or if brokers report no ids

	deadLetters []string // files of dead letters, by segment; "" if a segment has none
}

func (s *spool) window() *Window {
	w := &Window{Firsts: map[int]int64{}, Ends: map[int]int64{}, Identity: s.m.Identity}
	for _, g := range s.m.Segments {
		w.Segments = append(w.Segments, g.Segment)
		w.paths = append(w.paths, filepath.Join(s.cfg.Folder, g.File))
		deadLetters := g.DeadLetters
		if deadLetters != "" {
			deadLetters = filepath.Join(s.cfg.Folder, deadLetters)
		}
		w.deadLetters = append(w.deadLetters, deadLetters)
	}
	for _, of := range s.m.Spans {
		w.Firsts[of.Partition], w.Ends[of.Partition] = of.First, of.End
	}
	return w
}

// Rows returns the number of rows.
func (w *Window) Rows() int64 {
	var n int64
	for _, g := range w.Segments {
		n += g.Rows
	}
	return n
}

// A Source reads the rows of a window from its spool. For rejected rows it has the reasons.
type Source struct {
	*lake.Source

	segments []dataset.Segment
}

var _ dataset.Source = (*Source)(nil)

// Open opens the spool. It returns [dataset.ErrNoRows] for a window without rows.
func (w *Window) Open(ctx context.Context, want dataset.Choice) (*Source, error) {
	if len(w.paths) == 0 {
		return nil, fmt.Errorf("kafka: %w", dataset.ErrNoRows)
	}
	src, err := lake.Open(ctx, lake.Config{
		Paths: w.paths, Reasons: columnReason,
		Choice: dataset.Choice{Features: want.Features, Behind: want.Behind, Exclude: want.Exclude, Encoded: want.Encoded, Target: want.Target, Mark: want.Mark, Decoders: want.Decoders},
	})
	if err != nil {
		return nil, err
	}
	s := &Source{src, w.Segments}
	if len(src.Shards()) != len(w.paths) {
		return nil, fmt.Errorf("the spool has %d row groups for %d segments: somebody changed its files; remove the folder", len(src.Shards()), len(w.paths))
	}
	return s, nil
}

// Files returns nil: the files of a spool are temporary, so manifests do not list them.
func (*Source) Files() []dataset.File { return nil }

// Meanings returns nil: records do not state what their values mean.
func (*Source) Meanings() []job.Meaning { return nil }

// Shards returns the segments in order.
func (s *Source) Shards() []dataset.Shard {
	shards := s.Source.Shards()
	for i := range shards {
		g := s.segments[i]
		shards[i].Segment = &g
		shards[i].Name = g.String()
	}
	return shards
}
