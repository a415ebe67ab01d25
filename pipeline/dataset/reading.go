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

// batchesAhead is the number of decoded batches of a shard that may wait for their consumer. With two, the decoder
// is busy while a batch is used.
const batchesAhead = 2

// A Block is a batch as plain columns. It is valid until the function that received it returns, or after [Block.Retain]
// until [Block.Release].
type Block struct {
	First   int64 // ordinal of the first row
	Rows    int
	Columns [][]float64   // in the source's order
	Reasons *array.String // why rows are rejected; nil unless the source marks them
	Marks   []uint64      // hashes of the rows under a [Secret]; nil unless requested

	record arrow.Record
}

// Retain keeps all of the block but Marks until Release is called.
func (b Block) Retain() { b.record.Retain() }

// Release ends Retain.
func (b Block) Release() { b.record.Release() }

// Indices returns the numbers 0 to n−1.
func Indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Stream reads the shards of a source in the given order, or in their own if order is nil, and calls use with their
// batches one after the other. Up to readers shards are decoded at the same time, which does not change the sequence
// of calls. When Stream returns, all goroutines that it started have ended.
func Stream(ctx context.Context, src Source, order []int, readers int, use func(Block) error) error {
	_, err := reading{src: src, shards: src.Shards(), order: order, readers: readers}.run(ctx, use)
	return err
}

// A reading holds the settings for reading shards.
type reading struct {
	src     Source
	shards  []Shard
	order   []int // indices of shards; nil means all shards in their order
	readers int
	targets bool  // make a Multiset of the last column of each shard
	marked  []int // columns that the marks of rows are computed from; nil means no marks
	secret  Secret
	free    *sync.Pool // of slices for marks
}

// Shards reads the shards in the given order, up to readers of them at a time. For each it calls fold, with the
// number of the reader, from 0, and the index of the shard. The first function that fold returns gets the blocks of
// the shard, in their order. The second gets, at its end, the digests of its columns and the multiset of its targets.
// If marked lists columns, blocks have the marks of their rows under the secret. An error stops only the shards later
// in the order, so that Shards returns the error of the first faulty shard, whatever the number of readers.
func Shards(ctx context.Context, src Source, order []int, readers int, marked []int, by Secret, fold func(worker, shard int) (func(Block) error, func([]ColumnDigest, Multiset) error)) error {
	r := reading{src: src, shards: src.Shards(), order: order, readers: readers, targets: true, marked: marked, secret: by, free: &sync.Pool{}}
	failures := make([]error, len(r.order))
	var next, failed atomic.Int64 // positions in the order: the next to read, and the first faulty one
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
						return errors.New("an earlier shard has failed") // never returned: the earlier error is
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

// run reads the shards in their order, and returns the last delivery of the last one.
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
		if end, err = r.consume(ctx, queue[0], r.shards[order[i]], use); err != nil {
			return end, err
		}
		queue = queue[1:]
	}
	return end, nil
}

// A delivery is a decoded batch, the end of a shard, or an error.
type delivery struct {
	block   Block
	digests []ColumnDigest // of the shard's columns; set at its end
	targets Multiset       // of the shard; set at its end
	err     error
}

func (r reading) release(d delivery) {
	if d.block.record != nil {
		d.block.Release()
	}
	if d.block.Marks != nil {
		r.free.Put(&d.block.Marks)
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
			_ = batches.Close() // ctx is done, and the consumer returns an error
			return
		}
	}
}

// consume calls use with the blocks of a shard and returns the delivery at its end. It returns an error if the
// channel is closed before that, because ctx is done.
func (r reading) consume(ctx context.Context, in <-chan delivery, shard Shard, use func(Block) error) (end delivery, err error) {
	next := shard.First
	for d := range in {
		if d.err != nil {
			return end, d.err
		}
		if d.block.record == nil {
			if got := next - shard.First; got != shard.Rows {
				return end, fmt.Errorf("%s: read %d rows of %d", shard.Name, got, shard.Rows)
			}
			return d, nil
		}
		d.block.First = next
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

// ToBlock returns a record as a block that shares its memory. It returns an error for types and nulls that break the
// contract of [Batches].
func ToBlock(record arrow.Record) (Block, error) {
	b := Block{Rows: int(record.NumRows()), record: record}
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
