package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// batchesAhead is how many decoded batches of a shard may wait for their
// consumer. Two keep a decoder busy while one batch is being used.
const batchesAhead = 2

// A block is a batch as plain columns. They are valid until the function that
// received it returns.
type block struct {
	shard   int
	first   int64 // ordinal of the first row
	rows    int
	columns [][]float64 // in the source's order
	reasons *array.String
	marks   []mark // one a row, where they are asked for
}

// stream reads the shards of a source in the given order (nil: their own) and
// hands their batches to use, one after the other. Up to readers shards are
// decoded at the same time, ahead of their turn; the sequence of calls does not
// depend on it. It returns the column digests of each shard, in the given
// order. All goroutines that it starts have ended when it returns.
func stream(ctx context.Context, src Source, order []int, readers int, use func(block) error) ([][]ColumnDigest, error) {
	return reading{src: src, order: order, readers: readers}.run(ctx, use)
}

// streamMarked reads all shards in their order and gives each block the marks of
// its rows, computed where they are decoded, from the used columns.
func streamMarked(ctx context.Context, src Source, used []int, readers int, use func(block) error) ([][]ColumnDigest, error) {
	return reading{src: src, readers: readers, marked: used, marker: newMarker(), free: &sync.Pool{}}.run(ctx, use)
}

// A reading is how shards are read.
type reading struct {
	src     Source
	order   []int
	readers int
	marked  []int // the columns that marks are of; nil: there are no marks
	marker  marker
	free    *sync.Pool
}

func (r reading) run(ctx context.Context, use func(block) error) ([][]ColumnDigest, error) {
	src, order, readers := r.src, r.order, r.readers
	shards := src.Shards()
	if order == nil {
		order = make([]int, len(shards))
		for i := range order {
			order[i] = i
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	var queue []chan delivery // shards being decoded; the decoder closes its channel
	defer func() {
		cancel()
		for _, ch := range queue {
			for d := range ch {
				r.release(d)
			}
		}
	}()
	started := 0
	digests := make([][]ColumnDigest, 0, len(order))
	for turn := range order {
		for ; started < min(turn+max(readers, 1), len(order)); started++ {
			ch := make(chan delivery, batchesAhead)
			shard := order[started]
			running.Go(func() {
				defer close(ch)
				r.decode(ctx, shard, ch)
			})
			queue = append(queue, ch)
		}
		shard := order[turn]
		d, err := r.consume(ctx, queue[0], shards[shard], shard, use)
		if err != nil {
			return nil, err
		}
		digests = append(digests, d)
		queue = queue[1:]
	}
	return digests, nil
}

// A delivery is a decoded batch, or the end of a shard: its digests or an error.
type delivery struct {
	record  arrow.Record
	block   block
	digests []ColumnDigest
	err     error
}

func (r reading) release(d delivery) {
	if d.record != nil {
		d.record.Release()
	}
	if d.block.marks != nil {
		r.free.Put(&d.block.marks)
	}
}

// decode sends the batches of a shard and then its end, unless ctx is done.
func (r reading) decode(ctx context.Context, shard int, out chan<- delivery) {
	send := func(d delivery) bool {
		select {
		case out <- d:
			return true
		case <-ctx.Done():
			r.release(d)
			return false
		}
	}
	batches, err := r.src.Open(ctx, shard)
	if err != nil {
		send(delivery{err: err})
		return
	}
	for {
		record, err := batches.Next(ctx)
		if errors.Is(err, io.EOF) {
			send(delivery{digests: batches.ColumnDigests(), err: batches.Close()})
			return
		}
		if err != nil {
			send(delivery{err: errors.Join(err, batches.Close())})
			return
		}
		d := delivery{record: record}
		if d.block, err = r.view(record); err != nil {
			record.Release()
			send(delivery{err: errors.Join(err, batches.Close())})
			return
		}
		if !send(d) {
			_ = batches.Close() // the consumer has gone, with an error of its own
			return
		}
	}
}

// consume takes a shard's deliveries to their end. They end early if ctx is done.
func (r reading) consume(ctx context.Context, in <-chan delivery, shard Shard, index int, use func(block) error) ([]ColumnDigest, error) {
	next := shard.First
	for d := range in {
		if d.err != nil {
			return nil, d.err
		}
		if d.record == nil {
			if got := next - shard.First; got != shard.Rows {
				return nil, fmt.Errorf("pipeline: %s: read %d rows of %d", shard.Name, got, shard.Rows)
			}
			return d.digests, nil
		}
		d.block.shard, d.block.first = index, next
		next += int64(d.block.rows)
		if next > shard.First+shard.Rows {
			r.release(d)
			return nil, fmt.Errorf("pipeline: %s: read more than its %d rows", shard.Name, shard.Rows)
		}
		err := use(d.block)
		r.release(d)
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("pipeline: %s: reading was stopped: %w", shard.Name, context.Cause(ctx))
}

// view is a batch as a block, with its marks.
func (r reading) view(record arrow.Record) (block, error) {
	b, err := toBlock(record)
	if err != nil || r.marked == nil {
		return b, err
	}
	if old, ok := r.free.Get().(*[]mark); ok && cap(*old) >= b.rows {
		b.marks = (*old)[:b.rows]
	} else {
		b.marks = make([]mark, b.rows)
	}
	r.marker.rows(b.marks, b.columns, r.marked)
	return b, nil
}

// toBlock views a record's columns. The conversion is checked, for a source
// that breaks its contract must not pass for data.
func toBlock(record arrow.Record) (block, error) {
	b := block{rows: int(record.NumRows())}
	for i, column := range record.Columns() {
		switch column := column.(type) {
		case *array.Float64:
			if column.NullN() > 0 {
				return block{}, fmt.Errorf("pipeline: column %q of a batch has nulls", record.ColumnName(i))
			}
			b.columns = append(b.columns, column.Float64Values())
		case *array.String:
			b.reasons = column
		default:
			return block{}, fmt.Errorf("pipeline: column %q of a batch is %s, want float64", record.ColumnName(i), column.DataType())
		}
	}
	return b, nil
}
