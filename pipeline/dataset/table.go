package dataset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// tableRows is the default number of rows of a [Table]'s shards and batches, small enough for several workers. The
// sample digest depends on the shards.
const tableRows = 4096

// A Table is [Rows] of columns in memory. It does not copy the columns, which must not change while they are read or
// batches are not released. A row is rejected if a value is NaN, infinite or beyond 1e30 in magnitude.
type Table struct {
	// BatchRows is the largest number of rows of a batch. 0 means 4,096.
	BatchRows int

	names  []string
	data   [][]float64
	shards []Shard
}

// Columns returns a table whose column j has the name names[j] and the values data[j]. The first shards have the given
// numbers of rows, and the remaining rows are divided into shards of 4,096. Columns of different lengths, duplicate
// names and shards that do not fit are errors.
func Columns(names []string, data [][]float64, shards ...int) (*Table, error) {
	if len(names) == 0 || len(names) != len(data) {
		return nil, fmt.Errorf("%d names for %d columns", len(names), len(data))
	}
	for j, name := range names {
		if slices.Contains(names[:j], name) {
			return nil, fmt.Errorf("two columns %q", name)
		}
		if len(data[j]) != len(data[0]) {
			return nil, fmt.Errorf("column %q has %d rows, %q has %d", name, len(data[j]), names[0], len(data[0]))
		}
	}
	t := &Table{names: slices.Clone(names), data: slices.Clone(data)}
	rows, next := len(data[0]), 0
	for _, n := range shards {
		if n < 0 || n > rows-next {
			return nil, fmt.Errorf("shards of %v rows in a table of %d", shards, rows)
		}
		t.addShard(next, n)
		next += n
	}
	for ; next < rows; next += tableRows {
		t.addShard(next, min(tableRows, rows-next))
	}
	return t, nil
}

func (t *Table) addShard(first, rows int) {
	t.shards = append(t.shards, Shard{
		First:    int64(first),
		Rows:     int64(rows),
		Name:     fmt.Sprintf("memory rows %d to %d", first, first+rows),
		Position: Position{In: "memory", At: int64(first)},
	})
}

// Data is [Table.Open] with the signature of [OpenData], for [pipeline.Verify].
func (t *Table) Data(ctx context.Context, want Choice) (Source, error) { return t.Open(ctx, want) }

// Release does nothing: the columns are the caller's.
func (t *Table) Release(bool) error { return nil }

// Open opens the chosen columns. If Features is nil, the features are all columns without another use, sorted
// bytewise, as in every source. The error joins all faults of the choice, each wrapping [job.ErrConfig].
func (t *Table) Open(_ context.Context, c Choice) (Opened, error) {
	var faults []error
	find := func(key, name string) int {
		at := slices.Index(t.names, name)
		if at < 0 {
			faults = append(faults, fmt.Errorf("%w: %s: the rows have no column %q; they have %s", job.ErrConfig, key, name, strings.Join(t.names, ", ")))
		}
		return at
	}
	for _, name := range c.Exclude {
		find("exclude", name)
	}
	features := c.Features
	if features == nil {
		for _, name := range slices.Sorted(slices.Values(t.names)) {
			if name != c.Target && !slices.Contains(slices.Concat(c.Exclude, c.Behind, c.Labels), name) {
				features = append(features, name)
			}
		}
	}
	if len(features) == 0 {
		faults = append(faults, fmt.Errorf("%w: features: no column is left", job.ErrConfig))
	}
	chosen := &openTable{of: t, choice: c}
	add := func(key, name string) {
		if slices.Contains(chosen.names, name) {
			faults = append(faults, fmt.Errorf("%w: %s: column %q is named twice", job.ErrConfig, key, name))
		}
		if at := find(key, name); at >= 0 {
			chosen.names, chosen.data = append(chosen.names, name), append(chosen.data, t.data[at])
		}
	}
	for _, name := range features {
		add("features", name)
	}
	for _, name := range c.Behind {
		add("mean or groups", name)
	}
	for _, name := range c.Labels {
		add("unit", name)
	}
	if c.Target != "" {
		add("target", c.Target)
	}
	if g := c.Groups; len(g.Texts) > 0 {
		faults = append(faults, fmt.Errorf("%w: column %q has numbers, and not the texts %s", job.ErrConfig, g.Column, strings.Join(g.Texts, ", ")))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return chosen, nil
}

// openTable is a [Source] of some columns of a table.
type openTable struct {
	of     *Table
	choice Choice
	names  []string
	data   [][]float64
}

// Columns returns the names of the columns.
func (o *openTable) Columns() []string { return slices.Clone(o.names) }

// Shards returns the shards.
func (o *openTable) Shards() []Shard { return slices.Clone(o.of.shards) }

// Warnings returns nil.
func (o *openTable) Warnings() []string { return nil }

// Meanings returns nil: columns in memory do not state their meanings.
func (o *openTable) Meanings() []job.Meaning { return nil }

// Files returns nil.
func (o *openTable) Files() []File { return nil }

// Open starts to read shard i.
func (o *openTable) Open(ctx context.Context, i int) (Batches, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i < 0 || i >= len(o.of.shards) {
		return nil, fmt.Errorf("no shard %d of %d", i, len(o.of.shards))
	}
	shard := o.of.shards[i]
	b := &tableBatches{of: o, next: int(shard.First), end: int(shard.First + shard.Rows)}
	for range o.names {
		b.sums = append(b.sums, sha256.New())
	}
	return b, nil
}

// tableBatches reads one shard of a table.
type tableBatches struct {
	of        *openTable
	next, end int
	sums      []hash.Hash
	bits      []byte // of a column of a batch
	closed    bool
}

var errClosed = errors.New("batches are closed")

// Next returns the next rows, which share memory with the table.
func (b *tableBatches) Next(ctx context.Context) (arrow.Record, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case b.closed:
		return nil, errClosed
	case b.next == b.end:
		return nil, io.EOF
	}
	n := min(cmp.Or(max(0, b.of.of.BatchRows), tableRows), b.end-b.next)
	columns := make([][]float64, len(b.of.data))
	for j, column := range b.of.data {
		columns[j] = column[b.next : b.next+n : b.next+n]
	}
	reasons, err := b.check(columns)
	if err != nil {
		return nil, err
	}
	for j, values := range columns {
		b.bits = AppendNumbers(b.bits[:0], values)
		_, _ = b.sums[j].Write(b.bits) // a hash never returns an error
	}
	b.next += n
	return recordOf(b.of.names, columns, reasons), nil
}

// check returns the faults of each row, "" for a good one, if rejected rows are marked. It replaces a column with bad
// cells by a copy in which they are NaN.
func (b *tableBatches) check(columns [][]float64) (reasons []string, err error) {
	if b.of.choice.Mark {
		reasons = make([]string, len(columns[0]))
	}
	for j, values := range columns {
		copied := false
		for i, v := range values {
			fault := FaultOf(v)
			if fault == "" {
				continue
			}
			filled := b.of.choice.Encoded.Fills(b.of.names[j])
			if !b.of.choice.Mark && !filled {
				return nil, fmt.Errorf("memory: row %d (from 0), column %q %s; correct or remove the row, leave the column out of the features if it is one, or tolerate some rejected rows (rejected)",
					b.next+i, b.of.names[j], fault)
			}
			if !copied {
				columns[j], copied = slices.Clone(values), true
			}
			if columns[j][i] = math.NaN(); filled {
				continue
			}
			reasons[i] = AlsoWrong(reasons[i], b.of.names[j], fault)
		}
	}
	return reasons, nil
}

// FaultOf returns which row rule a number breaks, in words, or "".
func FaultOf(v float64) string {
	switch {
	case math.IsNaN(v):
		return "is NaN"
	case math.IsInf(v, 0):
		return "is infinite"
	case math.Abs(v) > job.MaxMagnitude:
		return "is beyond 1e30 in magnitude"
	default:
		return ""
	}
}

// AlsoWrong returns the reason of a rejected row with a column and its fault added.
func AlsoWrong(reason, column, fault string) string {
	if reason != "" {
		reason += "; "
	}
	return reason + column + " " + fault
}

// recordOf returns a batch of columns. If reasons is not nil, they are the last column, with null for "".
func recordOf(names []string, columns [][]float64, reasons []string) arrow.Record {
	fields := make([]arrow.Field, len(columns), len(columns)+1)
	arrays := make([]arrow.Array, len(columns), len(columns)+1)
	for j, values := range columns {
		fields[j] = arrow.Field{Name: names[j], Type: arrow.PrimitiveTypes.Float64}
		buffer := memory.NewBufferBytes(arrow.Float64Traits.CastToBytes(values))
		data := array.NewData(fields[j].Type, len(values), []*memory.Buffer{nil, buffer}, nil, 0, 0)
		arrays[j] = array.NewFloat64Data(data)
		data.Release()
	}
	if reasons != nil {
		fields = append(fields, arrow.Field{Name: "_reason", Type: arrow.BinaryTypes.String, Nullable: true})
		marked := make([]bool, len(reasons))
		for i, text := range reasons {
			marked[i] = text != ""
		}
		builder := array.NewStringBuilder(memory.DefaultAllocator)
		builder.AppendValues(reasons, marked)
		arrays = append(arrays, builder.NewArray())
		builder.Release()
	}
	record := array.NewRecord(arrow.NewSchema(fields, nil), arrays, int64(len(columns[0])))
	for _, a := range arrays {
		a.Release()
	}
	return record
}

// ColumnDigests returns the digests of the values read so far.
func (b *tableBatches) ColumnDigests() []ColumnDigest {
	digests := make([]ColumnDigest, len(b.sums))
	for j, h := range b.sums {
		h.Sum(digests[j][:0])
	}
	return digests
}

// Close ends the reading.
func (b *tableBatches) Close() error {
	b.closed = true
	return nil
}
