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

// gather reads until the window has its rows.
func (s *spool) gather(ctx context.Context) error {
	left := s.cfg.Rows - s.read.Load()
	room := func(rows int) bool {
		if left -= int64(rows); left < 0 {
			left = 0
			return false
		}
		return true
	}
	writers := make([]*writer, 0, len(s.m.Spans))
	defer func() {
		for _, w := range writers {
			w.close()
		}
	}()
	next := make([]int64, len(s.m.Spans))
	for i, of := range s.m.Spans {
		w, err := s.writer(ctx, of, &cutter{rows: s.cfg.segmentRows})
		if err != nil {
			return err
		}
		w.room, w.next = room, s.nextNumber
		writers, next[i] = append(writers, w), w.first
	}
	s.number = s.afterLast()
	s.tell()
	behind := 0                                                  // looks at a partition that ends before what was read of it
	turn := min(max(s.cfg.Rows/int64(8*len(writers)), 16), 8192) // offsets
	for left > 0 {
		if err := s.cfg.Quota.wait(ctx, s.cfg.Folder); err != nil {
			return err
		}
		if err := s.sameTopic(ctx); err != nil {
			return err
		}
		latest, err := s.latest(ctx)
		if err != nil {
			return err
		}
		quiet, short := true, -1
		for i, w := range writers {
			if latest[w.partition] < next[i] {
				short = i
			}
			end := min(latest[w.partition], next[i]+turn)
			if end <= next[i] || left <= 0 {
				continue
			}
			quiet = false
			at := broker.Range{Topic: s.cfg.Topic, Partition: w.partition, First: next[i], End: end, FetchBytes: int32(min(max(turn*128, 1<<16), 4<<20))}
			switch err := s.cfg.Client.Read(ctx, at, w.add); {
			case errors.Is(err, errFull):
				if next[i], left = w.stopped, 0; s.read.Load() == 0 {
					return fmt.Errorf("kafka: topic %q, partition %d, offset %d: the record has more rows than the window, which has %d", s.cfg.Topic, w.partition, w.stopped, s.cfg.Rows)
				}
			case err != nil:
				return s.cfg.explain(ctx, err)
			default:
				next[i] = end
			}
		}
		if behind++; short < 0 {
			behind = 0
		} else if p := writers[short].partition; behind > maxBehind {
			return fmt.Errorf("kafka: partition %d of topic %q ends at offset %d, and the window has it up to %d: the topic was made anew, or has lost records", p, s.cfg.Topic, latest[p], next[short])
		}
		if !quiet && s.cfg.Progress != nil {
			s.cfg.Progress(s.read.Load())
		}
		if err := flushMost(writers, next, s.cfg.segmentRows); err != nil {
			return err
		}
		if s.cfg.Round > 0 && held(writers) >= s.cfg.Round && left > 0 {
			if err := flushAll(writers, next); err != nil {
				return err
			}
			s.tell()
		}
		if quiet || short >= 0 { // a new leader may not know yet how far it is
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pollEvery):
			}
		}
	}
	if err := flushAll(writers, next); err != nil {
		return err
	}
	for i, w := range writers {
		s.m.Spans[i].End = w.first // behind its last segment
	}
	return s.complete(ctx)
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
