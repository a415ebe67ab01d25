package kafkalog

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// A window that closes at a number of rows has no ends in advance. Its partitions are read in
// rounds up to their last committed record. Which rows it gets depends on when they arrive; its
// segments record that, and can be replayed. Segments are numbered in the order in which they are
// cut, so that the stored ones are always the beginning of the dataset.

// errFull means that a window has all its rows.
var errFull = errors.New("the window is closed")

// A gathering fills a window that closes at a number of rows.
type gathering struct {
	*spool
	rounds

	partitions []int
	writers    map[int]*writer // by partition
	most       int64           // most offsets of a partition to read in a round
	left       int64           // rows that the window still needs
}

// gather reads rounds until the window has its rows.
func (s *spool) gather(ctx context.Context) error {
	g := &gathering{spool: s, rounds: rounds{next: map[int]int64{}}, writers: map[int]*writer{}, left: s.cfg.Rows - s.read.Load()}
	defer func() {
		for _, w := range g.writers {
			w.deadLetters.drop()
		}
	}()
	room := func() bool {
		if g.left == 0 {
			return false
		}
		g.left--
		return true
	}
	for _, of := range s.m.Spans {
		w, err := g.writer(ctx, of)
		if err != nil {
			return err
		}
		w.number, w.room = &g.number, room
		g.partitions, g.writers[of.Partition], g.next[of.Partition] = append(g.partitions, of.Partition), w, w.first
	}
	s.number = len(s.m.Segments)
	g.most = min(max(s.cfg.Rows/int64(8*len(g.writers)), 16), 8192)
	for g.left > 0 {
		if err := s.cfg.Quota.wait(ctx, s.cfg.Folder); err != nil {
			return err
		}
		if err := s.sameTopic(ctx); err != nil {
			return err
		}
		if err := g.round(ctx); err != nil {
			return err
		}
	}
	for _, p := range g.partitions {
		if err := g.flush(p); err != nil {
			return err
		}
	}
	for i, of := range s.m.Spans {
		s.m.Spans[i].End = g.writers[of.Partition].first // after its last segment
	}
	return s.complete(ctx)
}

// round reads some offsets of each partition. If no partition has new ones, it pauses.
func (g *gathering) round(ctx context.Context) error {
	quiet, short, err := g.rounds.round(ctx, g.cfg, g.partitions, g.most, func(p int, end int64) error { return g.read(ctx, p, end) })
	if err != nil {
		return err
	}
	if !quiet && g.cfg.Progress != nil {
		g.cfg.Progress(g.spool.read.Load())
	}
	if err := g.flushMost(); err != nil {
		return err
	}
	if quiet || short {
		return broker.Pause(ctx, pollEvery)
	}
	return nil
}

// read reads a partition up to an offset, or until the window is full.
func (g *gathering) read(ctx context.Context, p int, end int64) error {
	if g.left <= 0 {
		return nil
	}
	w := g.writers[p]
	at := broker.Range{Topic: g.cfg.Topic, Partition: p, First: g.next[p], End: end, FetchBytes: int32(min(max(g.most*128, 1<<16), 4<<20))}
	switch err := g.cfg.Client.Read(ctx, at, w.add); {
	case errors.Is(err, errFull):
		g.next[p] = w.stopped
	case err != nil:
		return g.cfg.explain(ctx, err)
	default:
		g.next[p] = end
	}
	return nil
}

// held returns the number of rows that are not stored in a segment yet.
func (g *gathering) held() (rows int64) {
	for _, w := range g.writers {
		rows += int64(w.block.rows())
	}
	return rows
}

// flush stores the rows of a partition as a segment, if there are any.
func (g *gathering) flush(p int) error {
	if w := g.writers[p]; w.block.rows() > 0 {
		return w.flush(g.next[p])
	}
	return nil
}

// flushMost bounds memory for any number of partitions: while they together hold more rows than
// tailsAtOnce full segments, it stores the rows of the largest.
func (g *gathering) flushMost() error {
	for g.held() > int64(tailsAtOnce*g.cfg.segmentRows) {
		if err := g.flush(slices.MaxFunc(g.partitions, func(p, q int) int { return cmp.Compare(g.writers[p].block.rows(), g.writers[q].block.rows()) })); err != nil {
			return err
		}
	}
	return nil
}
