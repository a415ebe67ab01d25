package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Spool consumes a window into the folder and returns it. If the folder already has a part of the
// window, its ends stay the same and only the rest is consumed.
func Spool(ctx context.Context, cfg Config) (*Window, error) {
	s, err := openSpool(cfg)
	if err != nil {
		return nil, err
	}
	cfg = s.cfg
	resumed := s.m.Spans != nil
	if !resumed {
		if s.m.Identity, err = cfg.Client.Identity(ctx, cfg.Topic); err != nil {
			return nil, err
		}
	}
	if err := s.m.Identity.Same(cfg.Identity, cfg.Topic, "the one whose offsets the window has"); err != nil {
		return nil, err
	}
	if !resumed {
		if s.m.Spans, err = cfg.Freeze(ctx); err != nil {
			return nil, cfg.hintGone(err, false)
		}
		if err := s.save(); err != nil {
			return nil, err
		}
	}
	switch {
	case s.m.Complete:
	case cfg.Rows > 0:
		err = s.gather(ctx)
	default:
		err = s.consume(ctx)
	}
	if err != nil {
		return nil, cfg.hintGone(err, true)
	}
	return s.window(), nil
}

// hintGone adds to a [GoneError] how to begin a window at offsets that still exist. The group must
// move too: otherwise the next window begins at the lost offsets again.
func (cfg Config) hintGone(err error, spooled bool) error {
	gone, ok := errors.AsType[*GoneError](err)
	if !ok || cfg.Group == "" && !spooled {
		return err
	}
	var steps []string
	if cfg.Group != "" {
		steps = append(steps, fmt.Sprintf("these rows can be in no window: set the group to the oldest offset that is left, while no member is at work, as with kafka-consumer-groups --group %s --topic %s:%d --reset-offsets --to-offset %d --execute", cfg.Group, gone.Topic, gone.Partition, gone.Start))
	}
	if spooled {
		steps = append(steps, fmt.Sprintf("remove the spool %s, and the window is frozen again", cfg.Folder))
	}
	return fmt.Errorf("%w (hint: %s)", err, strings.Join(steps, "; "))
}

// Replay consumes the rows of these segments into an empty folder. It returns [job.ErrRefused] if a
// segment has another number of rows than it states.
func Replay(ctx context.Context, cfg Config, segments []dataset.Segment) (*Window, error) {
	if len(segments) == 0 {
		return nil, errors.New("kafka: no segment is named")
	}
	cfg.Topic = segments[0].Topic
	s, err := openSpool(cfg)
	if err != nil {
		return nil, err
	}
	cfg = s.cfg
	if len(s.m.Segments) > 0 {
		return nil, fmt.Errorf("kafka: %s holds a spool already", cfg.Folder)
	}
	ends := map[int64]int64{} // by partition: end of the segments so far
	for i, g := range segments {
		if g.Topic != cfg.Topic {
			return nil, fmt.Errorf("kafka: segment %d is of the topic %q, the first of %q: one topic is replayed", i, g.Topic, cfg.Topic)
		}
		if g.First < ends[g.Partition] {
			return nil, fmt.Errorf("kafka: %v: it begins before the end of an earlier segment, %d: %w", g, ends[g.Partition], job.ErrRefused)
		}
		ends[g.Partition] = g.End
	}
	if err := cfg.has(ctx, ends); err != nil {
		return nil, err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(tailsAtOnce)
	for i, g := range segments {
		group.Go(func() error { return s.replay(within, i, g) })
	}
	err = group.Wait()
	if err == nil {
		err = s.complete(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.window(), nil
}

// has returns an error unless the topic has these partitions, and offsets up to these ends. Reading would wait for them.
func (cfg Config) has(ctx context.Context, ends map[int64]int64) error {
	partitions, err := cfg.Client.Partitions(ctx, cfg.Topic)
	if err != nil {
		return err
	}
	for partition, end := range ends {
		if !slices.Contains(partitions, int(partition)) {
			return fmt.Errorf("topic %q has no partition %d", cfg.Topic, partition)
		}
		latest, err := cfg.Client.Offsets(ctx, cfg.Topic, []int{int(partition)}, broker.Latest)
		if err != nil {
			return err
		}
		if last := latest[int(partition)]; last < end {
			return fmt.Errorf("topic %q, partition %d ends before offset %d: the certificate names offsets up to %d", cfg.Topic, partition, last, end-1)
		}
	}
	return nil
}

// replay consumes the rows of a segment, which gets this number.
func (s *spool) replay(ctx context.Context, number int, g dataset.Segment) error {
	w, err := s.writer(ctx, pipeline.WindowPart{Partition: int(g.Partition), First: g.First, End: g.End})
	if err != nil {
		return err
	}
	w.first, w.number, w.whole = g.First, &number, true
	at := broker.Range{Topic: g.Topic, Partition: w.partition, First: g.First, End: g.End, FetchBytes: s.cfg.fetchBytes}
	if err := s.cfg.Client.Read(ctx, at, w.add); err != nil {
		return s.cfg.explain(ctx, err)
	}
	if rows := w.block.rows(); int64(rows) != g.Rows {
		return fmt.Errorf("topic %q, partition %d: there are %d rows at the offsets %d to %d, the certificate says %d: %w",
			g.Topic, w.partition, rows, g.First, g.End-1, g.Rows, job.ErrRefused)
	}
	return w.flush(g.End)
}

// A spool is the spool of a window while it is filled.
type spool struct {
	cfg     Config
	schemas *schemas     // of a registry; nil without one
	read    atomic.Int64 // rows so far, including those of earlier processes
	number  int          // of the next segment, for a window that closes at a number of rows
	mu      sync.Mutex   // guards m
	m       manifest
}

// progressEvery is after how many rows [Config.Progress] is called.
const progressEvery = 1 << 10

// openSpool makes or resumes a spool, and removes unfinished files of a killed process.
func openSpool(cfg Config) (*spool, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := cfg.files.MkdirAll(cfg.Folder); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	declared, err := cfg.declaration()
	if err != nil {
		return nil, err
	}
	m, err := readManifest(cfg.Folder)
	switch {
	case err != nil:
		return nil, err
	case m.Format == "":
		m = manifest{Format: spoolFormat, Declared: declared}
	case m.Declared != declared:
		return nil, otherWindow{fmt.Errorf("kafka: %s holds the spool of another window (%s); remove it, or name another folder", cfg.Folder, m.Declared)}
	}
	s := &spool{cfg: cfg, m: m, schemas: cfg.schemas()}
	var bytes int64
	for _, g := range m.Segments {
		s.read.Add(g.Rows)
		bytes += g.Bytes
	}
	cfg.Quota.set(cfg.Folder, bytes)
	if cfg.fills != nil {
		s.cfg.Progress = cfg.fills(s.read.Load())
	}
	_, err = sweep(cfg.files, cfg.Folder, func(name string) bool { // segments that the manifest does not name
		known := slices.ContainsFunc(m.Segments, func(g segment) bool { return name == g.File || name == g.DeadLetters })
		return !known && segmentName.MatchString(name)
	})
	return s, err
}

// otherWindow means that a folder has the spool of another window.
type otherWindow struct{ error }

// consume reads all partitions to the end of the window, tailsAtOnce at a time.
func (s *spool) consume(ctx context.Context) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(tailsAtOnce)
	for _, of := range s.m.Spans {
		group.Go(func() error { return s.partition(within, of) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return s.complete(ctx)
}

// complete marks the spool as complete, unless the topic was replaced.
func (s *spool) complete(ctx context.Context) error {
	if err := s.sameTopic(ctx); err != nil {
		return err
	}
	s.m.Complete = true
	slices.SortFunc(s.m.Segments, func(a, b segment) int { return strings.Compare(a.File, b.File) })
	return s.save()
}

// sameTopic returns an error if the topic was replaced since the window was frozen: a new topic has
// other rows at the same offsets.
func (s *spool) sameTopic(ctx context.Context) error {
	err := s.cfg.Client.Same(ctx, s.m.Identity, s.cfg.Topic, "when the window was begun")
	if errors.Is(err, broker.ErrAnother) {
		err = fmt.Errorf("%w (hint: remove the spool %s, and a window of the topic that is there now is begun; for a stream that has published choose another source.kafka.group, publish.kafka.name and output)", err, s.cfg.Folder)
	}
	return err
}

// partition reads a partition to the end of the window, from the end of its last segment.
func (s *spool) partition(ctx context.Context, part pipeline.WindowPart) error {
	w, err := s.writer(ctx, part)
	if err != nil {
		return err
	}
	defer w.deadLetters.drop()
	for first := w.first; first < part.End; {
		if err := s.cfg.Quota.wait(ctx, s.cfg.Folder); err != nil {
			return err
		}
		end := part.End
		if s.cfg.Quota != nil { // the quota is checked again before more is read
			end = min(end, first+maxSegmentRows)
		}
		at := broker.Range{Topic: s.cfg.Topic, Partition: part.Partition, First: first, End: end, FetchBytes: s.cfg.fetchBytes}
		if err := s.cfg.Client.Read(ctx, at, w.add); err != nil {
			return s.cfg.explain(ctx, err)
		}
		first = at.End
	}
	if w.block.rows() == 0 {
		return nil
	}
	return w.flush(part.End)
}

// writer returns the writer of a partition, which continues after its last segment.
func (s *spool) writer(ctx context.Context, part pipeline.WindowPart) (*writer, error) {
	names := s.cfg.decoded()
	b := &block{names: names, columns: make([][]float64, len(names)), topic: s.cfg.Topic, encoded: s.cfg.Encoded, reasons: map[int]string{}}
	w := &writer{spool: s, partition: part.Partition, number: new(int), first: part.First, block: b}
	s.mu.Lock()
	for _, g := range s.m.Segments {
		if g.Partition == int64(part.Partition) {
			*w.number++
			w.first = max(w.first, g.End)
		}
	}
	s.mu.Unlock()
	var err error
	w.decode, err = s.cfg.decoder(ctx, s.schemas)
	return w, err
}
