package kafkalog

import (
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A writer cuts the records of a partition into segments.
type writer struct {
	spool       *spool
	whole       bool // for a replayed segment, which is not cut by rows
	partition   int
	number      *int  // of the next segment: in the partition, or in the spool if the window closes at a number of rows
	first       int64 // first offset of the next segment
	decode      decoder
	block       *block // rows of the next segment
	deadLetters deadLetters
	room        func() bool // reserves room for a row in the window; false if it is full. nil means no limit
	stopped     int64       // the first offset for which there was no room
}

// add decodes a record and appends its row. It stores a full segment first.
func (w *writer) add(r *broker.Record) error {
	if w.room != nil && !w.room() {
		w.stopped = r.Offset
		return errFull
	}
	if !w.whole && w.block.rows() >= w.spool.cfg.segmentRows {
		if err := w.flush(r.Offset); err != nil {
			return err
		}
	}
	err := w.block.add(r, w.decode)
	if errors.Is(err, errUnavailable) {
		return w.bad(r, err)
	}
	if err != nil && !w.spool.cfg.Tolerant {
		return fmt.Errorf("%w (hint: mend the producer; rejected: {limit: 1 %%} allows some bad records)", w.bad(r, err))
	}
	if err != nil {
		w.block.reasons[w.block.rows()-1] = fmt.Sprintf("offset %d: %v", r.Offset, err)
	}
	if err != nil && w.spool.cfg.DeadLetters {
		if err := w.deadLetters.put(w.spool.cfg, w.partition, r, err); err != nil {
			return err
		}
	}
	if n := w.spool.read.Add(1); w.spool.cfg.Progress != nil && n%progressEvery == 0 {
		w.spool.cfg.Progress(n)
	}
	if rows := w.block.rows(); rows > maxSegmentRows {
		return w.bad(r, fmt.Errorf("a segment of %d rows, want at most %d", rows, maxSegmentRows))
	}
	return nil
}

// bad returns the error for a record that is not a row, with its position.
func (w *writer) bad(r *broker.Record, err error) error {
	return fmt.Errorf("topic %q, partition %d, offset %d: %w", w.spool.cfg.Topic, w.partition, r.Offset, err)
}

// flush stores the rows as a segment that ends before the offset next.
func (w *writer) flush(next int64) error {
	number := *w.number
	*w.number++
	g := segment{File: fmt.Sprintf("segment-%08d-partition-%06d.parquet", number, w.partition), Segment: dataset.Segment{
		Topic: w.spool.cfg.Topic, Partition: int64(w.partition), First: w.first, End: next, Rows: int64(w.block.rows()),
	}}
	if err := w.deadLetters.store(&g, fmt.Sprintf("_letters-%08d-partition-%06d.log", number, w.partition)); err != nil {
		return err
	}
	if err := w.spool.store(g, w.block); err != nil {
		return err
	}
	w.block.clear()
	w.first = g.End
	return nil
}
