package pipeline

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A reread is a source that reads each shard once. Later readings of a shard are from memory, so that they do not see
// changes of the data.
type reread struct {
	dataset.Opened

	mu    sync.Mutex
	whole map[int]shardRead
}

// A shardRead holds a shard as it was read.
type shardRead struct {
	records []arrow.Record
	digests []dataset.ColumnDigest
}

// Open opens shard i. The first call for a shard reads all of it.
func (s *reread) Open(ctx context.Context, i int) (dataset.Batches, error) {
	s.mu.Lock()
	read, ok := s.whole[i]
	s.mu.Unlock()
	if ok {
		return &rereading{shardRead: read}, nil
	}
	b, err := s.Opened.Open(ctx, i)
	if err != nil {
		return nil, err
	}
	for err == nil {
		var record arrow.Record
		if record, err = b.Next(ctx); err == nil {
			read.records = append(read.records, record)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, b.Close())
	}
	read.digests = b.ColumnDigests()
	s.mu.Lock()
	s.whole[i] = read
	s.mu.Unlock()
	return &rereading{shardRead: read}, b.Close()
}

// A rereading reads the rows of a shard from memory.
type rereading struct {
	shardRead

	next int
}

// Next returns the next rows of the shard.
func (r *rereading) Next(ctx context.Context) (arrow.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.next == len(r.records) {
		return nil, io.EOF
	}
	record := r.records[r.next]
	r.next++
	record.Retain()
	return record, nil
}

// ColumnDigests returns the digests of the first reading.
func (r *rereading) ColumnDigests() []dataset.ColumnDigest { return r.digests }

// Close does nothing.
func (r *rereading) Close() error { return nil }
