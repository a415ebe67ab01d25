package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// batches reads one row group. It holds at most one page a column.
type batches struct {
	src     *Source
	shard   shard
	file    objects.File
	tools   *tools
	next    []reader                        // by column
	cursors []*cursor                       // by column; nil for a key of the path, and in Arrow files
	record  arrow.Record                    // the record batch of an Arrow file
	reasons func(dst []parquet.Value) error // reads those of rejected rows; nil: the values tell them
	finite  []bool                          // by column: all values of this batch are good
	digests []hash.Hash                     // by column; nil: not wanted
	read    int64                           // rows so far
	err     error                           // of an earlier call, after which nothing is read; io.EOF after the last row
}

// A reader reads the next values of a column. finite says that all of them are good.
type reader func(values []float64) (finite bool, err error)

// tools has the buffers for reading a shard. The next shard uses them again.
type tools struct {
	pages   allowance
	lanes   []lane
	cursors []cursor // by column
}

var errClosed = errors.New("batches are closed")

func (b *batches) Next(ctx context.Context) (arrow.Record, error) {
	switch {
	case b.err != nil:
		return nil, b.err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case b.read < b.shard.group.rows:
		var record arrow.Record
		record, b.err = b.decode()
		return record, b.err
	}
	b.err = cmp.Or(b.finish(), io.EOF)
	return nil, b.err
}

// decode reads, checks and digests one batch.
func (b *batches) decode() (arrow.Record, error) {
	rows := int(min(int64(b.src.cfg.BatchRows), b.shard.group.rows-b.read))
	block := b.src.records.Block(rows)
	err := b.eachColumn(func(j int) error {
		return guard(func() (err error) {
			b.finite[j], err = b.next[j](block.Columns[j])
			return err
		})
	})
	if err != nil {
		block.Drop()
		return nil, err
	}
	known, err := b.readReasons(rows)
	if err != nil {
		block.Drop()
		return nil, err
	}
	var bad []int
	if slices.Contains(b.finite, false) {
		var column int
		var fault ingest.Fault
		if bad, column, fault = b.src.records.Bad(block); len(bad) > 0 && !b.src.cfg.Mark {
			block.Drop()
			name := b.src.columns[column]
			return nil, &ingest.RejectedRowError{Where: b.shard.file.Path, Row: b.shard.group.first + b.read + int64(bad[0]), Column: name, Target: name == b.src.cfg.Target, Fault: fault}
		}
	}
	record := b.src.records.New(block, bad, known)
	if b.digests != nil {
		err := b.eachColumn(func(j int) error {
			_, err := b.digests[j].Write(arrow.Float64Traits.CastToBytes(record.Column(j).(*array.Float64).Float64Values()))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	b.read += int64(rows)
	return record, nil
}

// readReasons reads the reasons of the next rows, as [ingest.Records.New] takes them.
func (b *batches) readReasons(rows int) (known func(row int) string, err error) {
	if b.reasons == nil {
		return nil, nil
	}
	texts := make([]parquet.Value, rows)
	err = guard(func() error { return b.reasons(texts) })
	return func(row int) string { return string(texts[row].ByteArray()) }, err
}

// eachColumn calls f for each column, in one goroutine a lane, and returns the error of the first column with one.
func (b *batches) eachColumn(f func(j int) error) error {
	failed := make([]error, len(b.cursors))
	lane := func(l int) {
		for j := l; j < len(failed); j += b.src.lanes {
			if failed[j] = f(j); failed[j] != nil {
				return
			}
		}
	}
	var running sync.WaitGroup
	for l := 1; l < b.src.lanes; l++ {
		running.Go(func() { lane(l) })
	}
	lane(0)
	running.Wait()
	for j, err := range failed {
		if err != nil {
			return b.columnError(j, err)
		}
	}
	return nil
}

func (b *batches) columnError(j int, err error) error {
	from := b.shard.group.first + b.read
	return fmt.Errorf("%s, row group %d, column %q, at or after row %d: %w",
		b.shard.file.Path, b.shard.group.index, b.src.columns[j], from, err)
}

func (b *batches) finish() error {
	for j, c := range b.cursors {
		if c == nil {
			continue
		}
		if err := guard(c.finish); err != nil {
			return b.columnError(j, err)
		}
	}
	return nil
}

// ColumnDigests returns the digests of the columns, nil without digests.
func (b *batches) ColumnDigests() []dataset.ColumnDigest {
	if b.digests == nil {
		return nil
	}
	digests := make([]dataset.ColumnDigest, len(b.digests))
	for j, d := range b.digests {
		d.Sum(digests[j][:0])
	}
	return digests
}

// Close closes the file. It may be called more than once.
func (b *batches) Close() error {
	if b.file == nil {
		return nil
	}
	err := b.file.Close()
	b.src.tools.Put(b.tools)
	b.file, b.tools, b.cursors, b.next = nil, nil, nil, nil
	if b.record != nil {
		b.record.Release()
		b.record = nil
	}
	b.err = cmp.Or(b.err, errClosed)
	return err
}
