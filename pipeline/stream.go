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
	record  arrow.Record
}

// indices are the numbers 0 to n−1.
func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// stream reads the shards of a source in the given order (nil: their own) and calls use with
// their batches, one after the other. Up to readers shards are decoded in advance at the same
// time; the sequence of calls does not depend on it. All goroutines that it starts have ended
// when it returns.
func stream(ctx context.Context, src Source, order []int, readers int, use func(block) error) error {
	return reading{src: src, order: order, readers: readers}.run(ctx, use)
}

// A reading has the settings of reading shards.
type reading struct {
	src     Source
	order   []int // nil: all shards, in their order
	readers int
	targets bool  // add up the last column, shard by shard
	marked  []int // columns to compute marks of; nil: no marks
	marker  marker
	free    *sync.Pool // of marks
}

// newReading reads shards in this order and adds up their targets. With columns to mark, each
// block has the marks of its rows; decoders compute them.
func newReading(src Source, order []int, readers int, marked []int, m marker) reading {
	return reading{src: src, order: order, readers: readers, targets: true, marked: marked, marker: m, free: &sync.Pool{}}
}

// An ending is the result of reading all rows of a shard.
type ending struct {
	columns []ColumnDigest
	targets multiset
}

// shards reads the shards, up to readers of them at a time. fold returns the functions that get
// the blocks of a shard, in their order, and its ending; worker is the reader's number, from 0 on.
// An error ends the later shards but not the earlier ones, so that the returned error is that of
// the first faulty shard, whatever the number of readers.
func (r reading) shards(ctx context.Context, fold func(worker, shard int) (func(block) error, func(ending) error)) error {
	var (
		all     = r.src.Shards()
		mu      sync.Mutex
		next    int
		failed  = len(r.order)
		failure error
		stop    = make(map[int]context.CancelFunc) // of the shards at work
		running sync.WaitGroup
	)
	begin := func(ctx context.Context) (turn int, within context.Context, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= failed {
			return 0, nil, false
		}
		turn = next
		next++
		within, stop[turn] = context.WithCancel(ctx)
		return turn, within, true
	}
	end := func(turn int, err error) {
		mu.Lock()
		defer mu.Unlock()
		stop[turn]()
		delete(stop, turn)
		if err == nil || turn >= failed {
			return
		}
		failed, failure = turn, err
		for other, cancel := range stop {
			if other > turn {
				cancel()
			}
		}
	}
	for worker := range min(max(r.readers, 1), len(r.order)) {
		running.Go(func() {
			for turn, within, ok := begin(ctx); ok; turn, within, ok = begin(ctx) {
				block, done := fold(worker, r.order[turn])
				end(turn, r.shard(within, all[r.order[turn]], r.order[turn], block, done))
			}
		})
	}
	running.Wait()
	return failure
}

// shard reads one shard.
func (r reading) shard(ctx context.Context, shard Shard, index int, use func(block) error, done func(ending) error) error {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan delivery, batchesAhead)
	go func() {
		defer close(ch)
		r.decode(ctx, index, ch)
	}()
	defer func() { // the decoder has ended when its channel is closed
		cancel()
		for d := range ch {
			r.release(d)
		}
	}()
	e, err := r.consume(ctx, ch, shard, index, use)
	if err != nil {
		return err
	}
	return done(e)
}

func (r reading) run(ctx context.Context, use func(block) error) error {
	src, order, readers := r.src, r.order, r.readers
	shards := src.Shards()
	if order == nil {
		order = indices(len(shards))
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
		if _, err := r.consume(ctx, queue[0], shards[shard], shard, use); err != nil {
			return err
		}
		queue = queue[1:]
	}
	return nil
}

// A delivery is a decoded batch, or the end of a shard or an error.
type delivery struct {
	record arrow.Record
	block  block
	ending ending
	err    error
}

func (r reading) release(d delivery) {
	if d.record != nil {
		d.record.Release()
	}
	if d.block.marks != nil {
		r.free.Put(&d.block.marks)
	}
}

// decode sends the batches of a shard and then its ending, unless ctx is done.
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
	var targets multiset
	for {
		record, err := batches.Next(ctx)
		if errors.Is(err, io.EOF) {
			send(delivery{ending: ending{batches.ColumnDigests(), targets}, err: batches.Close()})
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
		if r.targets {
			targets.add(d.block.columns[len(d.block.columns)-1])
		}
		if !send(d) {
			_ = batches.Close() // the consumer has gone, with an error of its own
			return
		}
	}
}

// consume calls use with a shard's blocks and returns its ending. Deliveries end early if ctx is
// done.
func (r reading) consume(ctx context.Context, in <-chan delivery, shard Shard, index int, use func(block) error) (ending, error) {
	next := shard.First
	for d := range in {
		if d.err != nil {
			return ending{}, d.err
		}
		if d.record == nil {
			if got := next - shard.First; got != shard.Rows {
				return ending{}, fmt.Errorf("pipeline: %s: read %d rows of %d", shard.Name, got, shard.Rows)
			}
			return d.ending, nil
		}
		d.block.shard, d.block.first = index, next
		next += int64(d.block.rows)
		if next > shard.First+shard.Rows {
			r.release(d)
			return ending{}, fmt.Errorf("pipeline: %s: read more than its %d rows", shard.Name, shard.Rows)
		}
		err := use(d.block)
		r.release(d)
		if err != nil {
			return ending{}, err
		}
	}
	return ending{}, fmt.Errorf("pipeline: %s: reading was stopped: %w", shard.Name, context.Cause(ctx))
}

// view returns a batch as a block, with its marks.
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

// toBlock views a record's columns. It checks types and nulls, in case a source breaks its
// contract.
func toBlock(record arrow.Record) (block, error) {
	b := block{rows: int(record.NumRows()), record: record}
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
