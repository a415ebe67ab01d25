package pipelinetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pacsgp/pacsgp/pipeline"
)

var _ pipeline.Source = (*Memory)(nil)

// Memory is a source whose rows are in memory. Its values can be changed
// between two readings, to show that somebody notices.
type Memory struct {
	// BatchRows is the largest number of rows of a batch. Zero means 1,000.
	BatchRows int
	// Mark says that bad rows are marked. Without it the first one is an error.
	Mark bool

	names  []string
	shards []pipeline.Shard

	mu   sync.Mutex
	data [][]float64
}

// NewMemory returns a source of the named columns, data[j] holding column j. It
// keeps data. Shards have the given numbers of rows; rows that are left over
// are one more shard. It panics if the lengths do not fit together.
func NewMemory(names []string, data [][]float64, shardRows ...int) *Memory {
	if len(names) == 0 || len(names) != len(data) {
		panic(fmt.Sprintf("pipelinetest: %d names for %d columns", len(names), len(data)))
	}
	rows := len(data[0])
	for j := range data {
		if len(data[j]) != rows {
			panic(fmt.Sprintf("pipelinetest: column %q has %d rows, %q has %d", names[j], len(data[j]), names[0], rows))
		}
	}
	m := &Memory{names: slices.Clone(names), data: data}
	first := 0
	for _, n := range shardRows {
		if n < 0 || first+n > rows {
			panic(fmt.Sprintf("pipelinetest: shards of %v rows in a table of %d", shardRows, rows))
		}
		m.addShard(first, n)
		first += n
	}
	if first < rows {
		m.addShard(first, rows-first)
	}
	return m
}

func (m *Memory) addShard(first, rows int) {
	m.shards = append(m.shards, pipeline.Shard{
		First: int64(first),
		Rows:  int64(rows),
		Name:  fmt.Sprintf("memory rows %d to %d", first, first+rows),
	})
}

// Set changes one value for all later readings.
func (m *Memory) Set(row, column int, value float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data[column][row] = value
}

// Columns returns the names of the columns.
func (m *Memory) Columns() []string { return slices.Clone(m.names) }

// Shards returns the shards.
func (m *Memory) Shards() []pipeline.Shard { return slices.Clone(m.shards) }

// Open starts to read shard i.
func (m *Memory) Open(ctx context.Context, i int) (pipeline.Batches, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i < 0 || i >= len(m.shards) {
		return nil, fmt.Errorf("pipelinetest: no shard %d of %d", i, len(m.shards))
	}
	b := &memoryBatches{m: m, next: int(m.shards[i].First), end: int(m.shards[i].First + m.shards[i].Rows)}
	for range m.names {
		b.sums = append(b.sums, sha256.New())
	}
	return b, nil
}

// memoryBatches reads one shard of a Memory.
type memoryBatches struct {
	m         *Memory
	next, end int
	sums      []hash.Hash
	closed    bool
}

// errClosed is what Next returns after Close.
var errClosed = errors.New("pipelinetest: batches are closed")

// Next copies the next rows.
func (b *memoryBatches) Next(ctx context.Context) (arrow.Record, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case b.closed:
		return nil, errClosed
	case b.next == b.end:
		return nil, io.EOF
	}
	n := min(b.end-b.next, b.m.batchRows())
	fields := make([]arrow.Field, len(b.m.names))
	columns := make([]arrow.Array, len(b.m.names))
	reasons := make([]string, n)
	for j, name := range b.m.names {
		fields[j] = arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}
		values := b.m.rows(j, b.next, b.next+n)
		for i, v := range values {
			if bad := math.IsNaN(v) || math.IsInf(v, 0); bad && b.m.Mark {
				v = math.NaN()
				values[i], reasons[i] = v, name+" is no number"
			} else if bad {
				return nil, fmt.Errorf("pipelinetest: memory: row %d, column %q is %v", b.next+i, name, v)
			}
			var bits [8]byte
			binary.LittleEndian.PutUint64(bits[:], math.Float64bits(v))
			_, _ = b.sums[j].Write(bits[:])
		}
		builder := array.NewFloat64Builder(memory.DefaultAllocator)
		builder.AppendValues(values, nil)
		columns[j] = builder.NewArray()
		builder.Release()
	}
	if b.m.Mark {
		fields = slices.Concat(fields, []arrow.Field{{Name: "_reason", Type: arrow.BinaryTypes.String, Nullable: true}})
		columns = slices.Concat(columns, []arrow.Array{texts(reasons)})
	}
	record := array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(n))
	for _, c := range columns {
		c.Release()
	}
	b.next += n
	return record, nil
}

func (m *Memory) batchRows() int {
	if m.BatchRows > 0 {
		return m.BatchRows
	}
	return 1000
}

// texts is a column of texts, null where they are empty.
func texts(of []string) arrow.Array {
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	defer builder.Release()
	for _, text := range of {
		if text == "" {
			builder.AppendNull()
		} else {
			builder.Append(text)
		}
	}
	return builder.NewArray()
}

// rows returns a copy of rows [from, to) of column j.
func (m *Memory) rows(j, from, to int) []float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.data[j][from:to])
}

// ColumnDigests returns the digests of the values read so far.
func (b *memoryBatches) ColumnDigests() []pipeline.ColumnDigest {
	digests := make([]pipeline.ColumnDigest, len(b.sums))
	for j, h := range b.sums {
		h.Sum(digests[j][:0])
	}
	return digests
}

// Close ends the reading.
func (b *memoryBatches) Close() error {
	b.closed = true
	return nil
}
