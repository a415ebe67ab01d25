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
}

// stream reads the shards of a source in the given order (nil: their own) and
// hands their batches to use, one after the other. Up to readers shards are
// decoded at the same time, ahead of their turn; the sequence of calls does not
// depend on it. It returns the column digests of each shard, in the given
// order. All goroutines that it starts have ended when it returns.
func stream(ctx context.Context, src Source, order []int, readers int, use func(block) error) ([][]ColumnDigest, error) {
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
				d.release()
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
				decode(ctx, src, shard, ch)
			})
			queue = append(queue, ch)
		}
		shard := order[turn]
		d, err := consume(ctx, queue[0], shards[shard], shard, use)
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
	digests []ColumnDigest
	err     error
}

func (d delivery) release() {
	if d.record != nil {
		d.record.Release()
	}
}

// decode sends the batches of a shard and then its end, unless ctx is done.
func decode(ctx context.Context, src Source, shard int, out chan<- delivery) {
	send := func(d delivery) bool {
		select {
		case out <- d:
			return true
		case <-ctx.Done():
			d.release()
			return false
		}
	}
	batches, err := src.Open(ctx, shard)
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
		if !send(delivery{record: record}) {
			_ = batches.Close() // the consumer has gone, with an error of its own
			return
		}
	}
}

// consume takes a shard's deliveries to their end. They end early if ctx is done.
func consume(ctx context.Context, in <-chan delivery, shard Shard, index int, use func(block) error) ([]ColumnDigest, error) {
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
		b, err := toBlock(d.record)
		if err == nil {
			b.shard, b.first = index, next
			next += int64(b.rows)
			err = use(b)
		}
		d.release()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("pipeline: %s: reading was stopped: %w", shard.Name, context.Cause(ctx))
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
