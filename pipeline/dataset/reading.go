package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// batchesAhead is how many decoded batches of a shard may wait for their
// consumer. Two keep a decoder busy while one batch is being used.
const batchesAhead = 2

// A Block is a batch as plain columns. They are valid until the function that
// received it returns.
type Block struct {
	Shard   int
	First   int64 // ordinal of the first row
	Rows    int
	Columns [][]float64 // in the source's order
	Reasons *array.String
	Marks   []uint64 // of the rows, where they are asked for: see [Secret]
	Record  arrow.Record
}

// Indices are the numbers 0 to n−1.
func Indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Stream reads the shards of a source in the given order (nil: their own) and calls use with
// their batches, one after the other. Up to readers shards are decoded in advance at the same
// time; the sequence of calls does not depend on it. All goroutines that it starts have ended
// when it returns.
func Stream(ctx context.Context, src Source, order []int, readers int, use func(Block) error) error {
	_, err := reading{src: src, shards: src.Shards(), order: order, readers: readers}.run(ctx, use)
	return err
}

// A reading has the settings of reading shards.
type reading struct {
	src     Source
	shards  []Shard
	order   []int // nil: all shards, in their order
	readers int
	targets bool  // add up the last column, shard by shard
	marked  []int // columns to compute marks of; nil: no marks
	secret  Secret
	free    *sync.Pool // of marks
}

// Shards reads the shards of this order, up to readers of them at a time, and adds up their targets. With
// columns to mark, each block has the marks of its rows by a secret; decoders compute them. fold returns the
// functions that get the blocks of a shard, in their order, and at its end the digests of its columns and its targets; worker is the reader's number,
// from 0 on. An error ends the later shards but not the earlier ones, so that the returned error is that of
// the first faulty shard, whatever the number of readers.
func Shards(ctx context.Context, src Source, order []int, readers int, marked []int, by Secret, fold func(worker, shard int) (func(Block) error, func([]ColumnDigest, Multiset) error)) error {
	r := reading{src: src, shards: src.Shards(), order: order, readers: readers, targets: true, marked: marked, secret: by, free: &sync.Pool{}}
	failures := make([]error, len(r.order))
	var next, failed atomic.Int64 // the next to read, and the first faulty one
	failed.Store(int64(len(r.order)))
	var running sync.WaitGroup
	for worker := range min(max(r.readers, 1), len(r.order)) {
		running.Go(func() {
			for i := next.Add(1) - 1; i < failed.Load(); i = next.Add(1) - 1 {
				block, done := fold(worker, r.order[i])
				one := r
				one.order, one.readers = r.order[i:i+1], 1
				end, err := one.run(ctx, func(b Block) error {
					if i > failed.Load() {
						return errors.New("an earlier shard has failed") // which is returned
					}
					return block(b)
				})
				if err == nil {
					err = done(end.digests, end.targets)
				}
				failures[i] = err
				for old := failed.Load(); failures[i] != nil && i < old && !failed.CompareAndSwap(old, i); {
					old = failed.Load()
				}
			}
		})
	}
	running.Wait()
	if i := failed.Load(); i < int64(len(failures)) {
		return failures[i]
	}
	return nil
}

// run reads the shards in their order, and returns the end of the last one.
func (r reading) run(ctx context.Context, use func(Block) error) (end delivery, err error) {
	order := r.order
	if order == nil {
		order = Indices(len(r.shards))
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
	for i := range order {
		for ; started < min(i+max(r.readers, 1), len(order)); started++ {
			ch := make(chan delivery, batchesAhead)
			shard := order[started]
			running.Go(func() {
				defer close(ch)
				r.decode(ctx, shard, ch)
			})
			queue = append(queue, ch)
		}
		shard := order[i]
		if end, err = r.consume(ctx, queue[0], r.shards[shard], shard, use); err != nil {
			return end, err
		}
		queue = queue[1:]
	}
	return end, nil
}

// A delivery is a decoded batch, or the end of a shard or an error.
type delivery struct {
	block   Block
	digests []ColumnDigest // at the end: of the columns
	targets Multiset       // at the end
	err     error
}

func (r reading) release(d delivery) {
	if d.block.Record != nil {
		d.block.Record.Release()
	}
	if d.block.Marks != nil {
		r.free.Put(&d.block.Marks)
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
	var targets Multiset
	for {
		record, err := batches.Next(ctx)
		if errors.Is(err, io.EOF) {
			send(delivery{digests: batches.ColumnDigests(), targets: targets, err: batches.Close()})
			return
		}
		if err != nil {
			send(delivery{err: errors.Join(err, batches.Close())})
			return
		}
		block, err := r.view(record)
		if err != nil {
			record.Release()
			send(delivery{err: errors.Join(err, batches.Close())})
			return
		}
		if r.targets {
			targets.Add(block.Columns[len(block.Columns)-1])
		}
		if !send(delivery{block: block}) {
			_ = batches.Close() // the consumer has gone, with an error of its own
			return
		}
	}
}

// consume calls use with a shard's blocks and returns its end. Deliveries end early if ctx is
// done.
func (r reading) consume(ctx context.Context, in <-chan delivery, shard Shard, index int, use func(Block) error) (end delivery, err error) {
	next := shard.First
	for d := range in {
		if d.err != nil {
			return end, d.err
		}
		if d.block.Record == nil {
			if got := next - shard.First; got != shard.Rows {
				return end, fmt.Errorf("%s: read %d rows of %d", shard.Name, got, shard.Rows)
			}
			return d, nil
		}
		d.block.Shard, d.block.First = index, next
		next += int64(d.block.Rows)
		if next > shard.First+shard.Rows {
			r.release(d)
			return end, fmt.Errorf("%s: read more than its %d rows", shard.Name, shard.Rows)
		}
		err := use(d.block)
		r.release(d)
		if err != nil {
			return end, err
		}
	}
	return end, fmt.Errorf("%s: reading was stopped: %w", shard.Name, context.Cause(ctx))
}

// view returns a batch as a block, with its marks.
func (r reading) view(record arrow.Record) (Block, error) {
	b, err := ToBlock(record)
	if err != nil || r.marked == nil {
		return b, err
	}
	if old, ok := r.free.Get().(*[]uint64); ok && cap(*old) >= b.Rows {
		b.Marks = (*old)[:b.Rows]
	} else {
		b.Marks = make([]uint64, b.Rows)
	}
	r.secret.mark(b.Marks, b.Columns, r.marked)
	return b, nil
}

// ToBlock views a record's columns. It checks types and nulls, in case a source breaks its
// contract.
func ToBlock(record arrow.Record) (Block, error) {
	b := Block{Rows: int(record.NumRows()), Record: record}
	for i, column := range record.Columns() {
		switch column := column.(type) {
		case *array.Float64:
			if column.NullN() > 0 {
				return Block{}, fmt.Errorf("column %q of a batch has nulls", record.ColumnName(i))
			}
			b.Columns = append(b.Columns, column.Float64Values())
		case *array.String:
			b.Reasons = column
		default:
			return Block{}, fmt.Errorf("column %q of a batch is %s, want float64", record.ColumnName(i), column.DataType())
		}
	}
	return b, nil
}
