package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// A window that closes by its rows has no ends until it has them. Its partitions are read
// in turns, so that each has its part of a backlog, as far as their records are committed;
// then again, until there are enough. Which rows it gets depends on when they arrive; what
// it got is recorded in its segments, which can be replayed as any. They are numbered as
// they are cut, whatever their partition: so what has been stored at any time is the
// beginning of the sample.

// errFull says that a window has all its rows.
var errFull = errors.New("the window is closed")

// pollEvery is the pause when no partition has a new record.
const pollEvery = 300 * time.Millisecond

// A gathering is a window that is filled.
type gathering struct {
	*spool
	writers []*writer // by partition
	next    []int64   // offset to go on at
	turn    int64     // offsets of a partition that are read at a time
	left    int64     // rows that are wanted still
	behind  int       // looks in a row at a partition that ends before what was read of it
}

// gather reads until the window has its rows.
func (s *spool) gather(ctx context.Context) error {
	g := &gathering{spool: s, left: s.cfg.Rows - s.read.Load(), next: make([]int64, len(s.m.Spans))}
	room := func(rows int) bool {
		if g.left -= int64(rows); g.left < 0 {
			g.left = 0
			return false
		}
		return true
	}
	defer func() {
		for _, w := range g.writers {
			w.close()
		}
	}()
	for i, of := range s.m.Spans {
		w, err := s.writer(ctx, of, &cutter{rows: s.cfg.segmentRows})
		if err != nil {
			return err
		}
		w.room, w.next = room, s.nextNumber
		g.writers, g.next[i] = append(g.writers, w), w.first
	}
	s.number = s.afterLast()
	s.tell()
	g.turn = min(max(s.cfg.Rows/int64(8*len(g.writers)), 16), 8192)
	for g.left > 0 {
		if err := s.cfg.Quota.wait(ctx, s.cfg.Folder); err != nil {
			return err
		}
		if err := s.sameTopic(ctx); err != nil {
			return err
		}
		wait, err := g.round(ctx)
		if err != nil {
			return err
		}
		if wait {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pollEvery):
			}
		}
	}
	if err := flushAll(g.writers, g.next); err != nil {
		return err
	}
	for i, w := range g.writers {
		s.m.Spans[i].End = w.first // behind its last segment
	}
	return s.complete(ctx)
}

// round reads a turn of each partition that has more, and reports whether to wait before the
// next one: nothing has come, or a new leader may not know yet how far a partition is.
func (g *gathering) round(ctx context.Context) (wait bool, err error) {
	latest, err := g.latest(ctx)
	if err != nil {
		return false, err
	}
	quiet, short := true, -1
	for i, w := range g.writers {
		if latest[w.partition] < g.next[i] {
			short = i
		}
		end := min(latest[w.partition], g.next[i]+g.turn)
		if end <= g.next[i] || g.left <= 0 {
			continue
		}
		quiet = false
		if err := g.take(ctx, i, end); err != nil {
			return false, err
		}
	}
	if g.behind++; short < 0 {
		g.behind = 0
	} else if p := g.writers[short].partition; g.behind > maxBehind {
		return false, fmt.Errorf("kafka: partition %d of topic %q ends at offset %d, and the window has it up to %d: the topic was made anew, or has lost records", p, g.cfg.Topic, latest[p], g.next[short])
	}
	if !quiet && g.cfg.Progress != nil {
		g.cfg.Progress(g.read.Load())
	}
	if err := flushMost(g.writers, g.next, g.cfg.segmentRows); err != nil {
		return false, err
	}
	if g.cfg.Round > 0 && held(g.writers) >= g.cfg.Round && g.left > 0 {
		if err := flushAll(g.writers, g.next); err != nil {
			return false, err
		}
		g.tell()
	}
	return quiet || short >= 0, nil
}

// take reads a partition up to an offset, or until the window has its rows.
func (g *gathering) take(ctx context.Context, i int, end int64) error {
	w := g.writers[i]
	at := broker.Range{Topic: g.cfg.Topic, Partition: w.partition, First: g.next[i], End: end, FetchBytes: int32(min(max(g.turn*128, 1<<16), 4<<20))}
	switch err := g.cfg.Client.Read(ctx, at, w.add); {
	case errors.Is(err, errFull):
		if g.next[i], g.left = w.stopped, 0; g.read.Load() == 0 {
			return fmt.Errorf("kafka: topic %q, partition %d, offset %d: the record has more rows than the window, which has %d", g.cfg.Topic, w.partition, w.stopped, g.cfg.Rows)
		}
	case err != nil:
		return g.cfg.explain(ctx, err)
	default:
		g.next[i] = end
	}
	return nil
}

// nextNumber takes the number of a segment, behind all that were cut before.
func (s *spool) nextNumber() int {
	s.number++
	return s.number - 1
}

// afterLast is the number behind those of the segments that are stored.
func (s *spool) afterLast() int {
	after := 0
	for _, g := range s.m.Segments {
		var number int
		if _, err := fmt.Sscanf(g.File, "segment-%d-", &number); err == nil {
			after = max(after, number+1)
		}
	}
	return after
}

// tell tells [Config.Stored] what is stored. No segment is being written.
func (s *spool) tell() {
	if s.cfg.Stored == nil || len(s.m.Segments) == 0 {
		return
	}
	s.sort()
	s.cfg.Stored(s.window())
}

// held are the rows that are in no segment yet.
func held(writers []*writer) (rows int64) {
	for _, w := range writers {
		rows += int64(w.block.rows())
	}
	return rows
}

// flushAll stores all rows that there are, in the order of the partitions.
func flushAll(writers []*writer, next []int64) error {
	for i, w := range writers {
		if w.block.rows() > 0 {
			if err := w.flush(next[i]); err != nil {
				return err
			}
		}
	}
	for _, w := range writers {
		if err := w.stored(); err != nil {
			return err
		}
	}
	return nil
}

// latest is where the committed records of the window's partitions end now.
func (s *spool) latest(ctx context.Context) (map[int]int64, error) {
	var partitions []int
	for _, of := range s.m.Spans {
		partitions = append(partitions, of.Partition)
	}
	return s.cfg.Client.Offsets(ctx, s.cfg.Topic, partitions, broker.Latest)
}

// flushMost stores the largest segment while those of all partitions together have more
// rows than a few whole ones, so that memory does not grow with the partitions.
func flushMost(writers []*writer, next []int64, rows int) error {
	for {
		sum, most := 0, 0
		for i, w := range writers {
			sum += w.block.rows()
			if w.block.rows() > writers[most].block.rows() {
				most = i
			}
		}
		if sum <= tailsAtOnce*rows {
			return nil
		}
		if err := writers[most].flush(next[most]); err != nil {
			return err
		}
	}
}

// elapsed waits until a record of the topic is so much later than the first one of the
// window, and returns the window up to then: in each partition up to its first record of
// that time or later, or all that is committed.
func (cfg Config) elapsed(ctx context.Context) ([]span, error) {
	for {
		spans, err := cfg.freeze(ctx)
		if err != nil {
			return nil, err
		}
		closed, err := cfg.close(ctx, spans)
		if closed || err != nil {
			return spans, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(3 * pollEvery):
		}
	}
}

// close shortens the spans to the time of the window, and reports whether it is over.
func (cfg Config) close(ctx context.Context, spans []span) (bool, error) {
	begin := int64(-1)
	var partitions []int
	for _, of := range spans {
		partitions = append(partitions, of.Partition)
		at, ok, err := cfg.firstTime(ctx, of)
		if err != nil {
			return false, err
		}
		if ok && (begin < 0 || at < begin) {
			begin = at
		}
	}
	if begin < 0 {
		return false, nil
	}
	for until := begin + cfg.For.Milliseconds(); ; until += cfg.For.Milliseconds() {
		ends, err := cfg.Client.Offsets(ctx, cfg.Topic, partitions, until)
		if err != nil {
			return false, err
		}
		closed, over, offsets := slices.Clone(spans), false, int64(0)
		for i, of := range spans {
			if end := ends[of.Partition]; end >= 0 && end < of.End {
				over = true
				closed[i].End = max(of.First, end)
			}
			offsets += closed[i].End - of.First
		}
		if !over {
			return false, nil
		}
		if offsets >= cfg.Least {
			copy(spans, closed)
			return true, nil
		}
	}
}

var errFound = errors.New("found")

// firstTime is the time of the first record of a span, if it has one.
func (cfg Config) firstTime(ctx context.Context, of span) (at int64, ok bool, err error) {
	err = cfg.Client.Read(ctx, broker.Range{Topic: cfg.Topic, Partition: of.Partition, First: of.First, End: of.End, FetchBytes: 1 << 16}, func(r *broker.Record) error {
		at, ok = r.Time, true
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return at, ok, err
}
