package kafkalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A writer cuts the records of a partition into segments.
type writer struct {
	spool     *spool
	ends      []pipeline.Segment // to come, of a replay; else segments are cut by their rows
	partition int
	number    int        // of the segment
	next      func() int // takes the number of a segment
	first     int64      // its first offset
	decode    decoder
	beside    []string // the last columns of the block
	fresh     *block   // rows of one record
	block     *block
	letters   letters
	room      func(rows int) bool // takes room for rows; nil: there is always some
	stopped   int64               // the offset that there was no room for
	storing   chan error          // of the segment before, while it is written; nil: none is
	spare     *block              // that was written
}

// add decodes a record and appends its row.
func (w *writer) add(r *broker.Record) error {
	for len(w.ends) > 0 && r.Offset >= w.ends[0].End {
		if err := w.flush(r.Offset); err != nil {
			return err
		}
	}
	if len(w.ends) > 0 && r.Offset < w.ends[0].First || r.Value == nil && w.spool.cfg.SkipTombstones {
		return nil
	}
	w.fresh.clear()
	n, err := w.fresh.add(func(columns [][]float64) (int, error) { return w.decoded(r, columns) })
	if err != nil && (!w.spool.cfg.Tolerant || errors.Is(err, errUnavailable)) {
		return w.bad(r, err)
	}
	if w.room != nil && !w.room(n) {
		w.stopped = r.Offset
		return errFull
	}
	if have := w.block.rows(); w.ends == nil && have > 0 && have+n > w.spool.cfg.segmentRows {
		if err := w.flush(r.Offset); err != nil {
			return err
		}
	}
	if err != nil && w.spool.cfg.Letters {
		if err := w.letters.put(w.spool.cfg, w.partition, r, err); err != nil {
			return err
		}
	}
	w.block.append(w.fresh)
	w.block.place(r, n)
	w.spool.progress(n)
	if rows := w.block.rows(); rows > MaxSegmentRows {
		return w.bad(r, fmt.Errorf("a segment of %d rows, want at most %d", rows, MaxSegmentRows))
	}
	return nil
}

// decoded appends the rows of a record to the columns.
func (w *writer) decoded(r *broker.Record, columns [][]float64) (rows int, err error) {
	if r.Value == nil {
		return 0, errors.New("it is a tombstone, without a value (hint: tombstones: skip passes over them)")
	}
	values := len(columns) - len(w.beside)
	if rows, err = w.decode.read(r.Value, columns[:values]); err != nil {
		return 0, err
	}
	for j, name := range w.beside {
		v, err := besideCell(r, name)
		if err != nil {
			return 0, fmt.Errorf("column %q: %w", name, err)
		}
		columns[values+j] = append(columns[values+j], slices.Repeat([]float64{v}, rows)...)
	}
	return rows, nil
}

// bad is the error of a record that is no row.
func (w *writer) bad(r *broker.Record, err error) error {
	return fmt.Errorf("kafka: topic %q, partition %d, offset %d: %w", w.spool.cfg.Topic, w.partition, r.Offset, err)
}

// finish ends the last segments of the partition.
func (w *writer) finish(end int64) error {
	for len(w.ends) > 0 {
		if err := w.flush(w.ends[0].End); err != nil {
			return err
		}
	}
	if w.block.rows() > 0 {
		if err := w.flush(end); err != nil {
			return err
		}
	}
	return w.stored()
}

// stored waits until the segments that were flushed are in the manifest.
func (w *writer) stored() error {
	if w.storing == nil {
		return nil
	}
	err := <-w.storing
	w.storing = nil
	return err
}

// close ends what the writer began. What it flushed may or may not be in the manifest.
func (w *writer) close() {
	_ = w.stored() // the caller has an error already, or has asked
	w.letters.drop()
}

// flush makes the rows a segment that ends before an offset.
func (w *writer) flush(next int64) error {
	number := w.next()
	g := segment{File: fileName(number, w.partition), Segment: pipeline.Segment{
		Topic: w.spool.cfg.Topic, Partition: int64(w.partition), First: w.first, End: next, Rows: int64(w.block.rows()),
	}}
	if len(w.ends) > 0 {
		want := w.ends[0]
		w.ends = w.ends[1:]
		g.First, g.End = want.First, want.End
		if g.Segment != want {
			return fmt.Errorf("kafka: topic %q, partition %d: there are %d rows at the offsets %d to %d, the certificate says %d: %w",
				g.Topic, w.partition, g.Rows, g.First, g.End-1, want.Rows, pipeline.ErrRefused)
		}
	}
	g.Bytes = w.letters.size
	var err error
	if g.Letters, err = w.letters.store(lettersName(number, w.partition)); err != nil {
		return err
	}
	w.letters.size = 0
	if err := w.store(g); err != nil {
		return err
	}
	w.first = g.End
	return nil
}

// store stores the block as a segment, behind the one before: beside the reading of the next one,
// unless another partition does that, to bound the memory.
func (w *writer) store(g segment) error {
	if err := w.stored(); err != nil {
		return err
	}
	select {
	case w.spool.aside <- struct{}{}:
	default:
		if err := w.spool.store(g, w.block); err != nil {
			return err
		}
		w.block.clear()
		return nil
	}
	full, next := w.block, w.spare
	if next == nil {
		next = newBlock(w.spool.cfg)
	}
	next.clear()
	storing := make(chan error, 1)
	go func() {
		defer func() { <-w.spool.aside }()
		storing <- w.spool.store(g, full)
	}()
	w.block, w.spare, w.storing = next, full, storing
	return nil
}
