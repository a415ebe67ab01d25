package pipeline

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
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// tableRows is how many rows a shard of a [Table] has unless it is said, and a batch at
// most: few enough for workers to share the rows. The shards enter the sample's digest.
const tableRows = 4096

// A Table is a [Source] of columns in memory. It keeps the columns without a copy: they
// must not change while anything reads them, batches that were not released included.
type Table struct {
	// BatchRows is the largest number of rows of a batch. Zero means 4,096.
	BatchRows int
	// Mark says that bad rows, those with a NaN or an infinity, are marked. Without it
	// the first one is an error.
	Mark bool

	names  []string
	data   [][]float64
	shards []Shard
}

var _ Source = (*Table)(nil)

// Columns returns a source of the named columns: data[j] holds column j, of which all have
// one length. Training takes the last one for the target unless [Table.For] is asked for
// another. shards are numbers of rows of the first shards; the rows behind them are cut
// into shards of 4,096. A name given twice, and lengths that do not fit, are errors.
func Columns(names []string, data [][]float64, shards ...int) (*Table, error) {
	if len(names) == 0 || len(names) != len(data) {
		return nil, fmt.Errorf("pipeline: %d names for %d columns", len(names), len(data))
	}
	for j, name := range names {
		if slices.Contains(names[:j], name) {
			return nil, fmt.Errorf("pipeline: two columns %q", name)
		}
		if len(data[j]) != len(data[0]) {
			return nil, fmt.Errorf("pipeline: column %q has %d rows, %q has %d", name, len(data[j]), names[0], len(data[0]))
		}
	}
	t := &Table{names: slices.Clone(names), data: slices.Clone(data)}
	rows, next := len(data[0]), 0
	for _, n := range shards {
		if n < 0 || n > rows-next {
			return nil, fmt.Errorf("pipeline: shards of %v rows in a table of %d", shards, rows)
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
		First: int64(first),
		Rows:  int64(rows),
		Name:  fmt.Sprintf("memory rows %d to %d", first, first+rows),
		Place: Place{In: "memory", At: int64(first)},
	})
}

// For opens the table for a run of a job: it is the Open of an [Environment].
func (t *Table) For(job Job) func(ctx context.Context, features []string) (Source, error) {
	return func(ctx context.Context, features []string) (Source, error) {
		exclude := job.Exclude
		if features == nil {
			features = job.Features
		} else {
			exclude = nil
		}
		return t.Data(ctx, features, exclude, job.Target, job.BadRows.Some())
	}
}

// Data opens columns of the table, with bad rows marked or not: it is the [OpenData] of
// [Verify]. Without features it takes all columns but the target and those to exclude,
// sorted bytewise, as every source does. All names that the table does not have are one
// error, which wraps [ErrConfig].
func (t *Table) Data(_ context.Context, features, exclude []string, target string, mark bool) (Source, error) {
	var faults []error
	find := func(key, name string) int {
		at := slices.Index(t.names, name)
		if at < 0 {
			faults = append(faults, fmt.Errorf("%w: %s: the rows have no column %q; they have %s", ErrConfig, key, name, strings.Join(t.names, ", ")))
		}
		return at
	}
	for _, name := range exclude {
		find("exclude", name)
	}
	if features == nil {
		for _, name := range slices.Sorted(slices.Values(t.names)) {
			if name != target && !slices.Contains(exclude, name) {
				features = append(features, name)
			}
		}
	}
	if len(features) == 0 {
		faults = append(faults, fmt.Errorf("%w: features: no column is left", ErrConfig))
	}
	chosen := &Table{BatchRows: t.BatchRows, Mark: mark, shards: t.shards}
	add := func(key, name string) {
		if slices.Contains(chosen.names, name) {
			faults = append(faults, fmt.Errorf("%w: %s: column %q is named twice", ErrConfig, key, name))
		}
		if at := find(key, name); at >= 0 {
			chosen.names, chosen.data = append(chosen.names, name), append(chosen.data, t.data[at])
		}
	}
	for _, name := range features {
		add("features", name)
	}
	if target != "" {
		add("target", target)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return chosen, nil
}

// Columns returns the names of the columns.
func (t *Table) Columns() []string { return slices.Clone(t.names) }

// Shards returns the shards.
func (t *Table) Shards() []Shard { return slices.Clone(t.shards) }

// Open starts to read shard i.
func (t *Table) Open(ctx context.Context, i int) (Batches, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i < 0 || i >= len(t.shards) {
		return nil, fmt.Errorf("pipeline: no shard %d of %d", i, len(t.shards))
	}
	b := &tableBatches{of: t, next: int(t.shards[i].First), end: int(t.shards[i].First + t.shards[i].Rows)}
	for range t.names {
		b.sums = append(b.sums, sha256.New())
	}
	return b, nil
}

// tableBatches reads one shard of a table.
type tableBatches struct {
	of        *Table
	next, end int
	sums      []hash.Hash
	bits      []byte // of a column of a batch
	closed    bool
}

var errClosed = errors.New("pipeline: batches are closed")

// Next views the next rows.
func (b *tableBatches) Next(ctx context.Context) (arrow.Record, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case b.closed:
		return nil, errClosed
	case b.next == b.end:
		return nil, io.EOF
	}
	n := tableRows
	if b.of.BatchRows > 0 {
		n = b.of.BatchRows
	}
	n = min(n, b.end-b.next)
	columns := make([][]float64, len(b.of.data))
	for j, column := range b.of.data {
		columns[j] = column[b.next : b.next+n : b.next+n]
	}
	reasons, err := b.check(columns)
	if err != nil {
		return nil, err
	}
	for j, values := range columns {
		if b.bits, err = binary.Append(b.bits[:0], binary.LittleEndian, values); err != nil {
			return nil, fmt.Errorf("pipeline: column %q: %w", b.of.names[j], err)
		}
		_, _ = b.sums[j].Write(b.bits) // a hash never returns an error
	}
	b.next += n
	return recordOf(b.of.names, columns, reasons), nil
}

// check returns what is wrong with each row, if bad rows are marked, and puts NaN for bad
// cells into copies of their columns.
func (b *tableBatches) check(columns [][]float64) (reasons []string, err error) {
	if b.of.Mark {
		reasons = make([]string, len(columns[0]))
	}
	for j, values := range columns {
		copied := false
		for i, v := range values {
			fault := faultOf(v)
			if fault == "" {
				continue
			}
			if !b.of.Mark {
				return nil, fmt.Errorf("pipeline: memory: row %d (from 0), column %q %s; correct or remove the row, leave the column out of the features if it is one, or tolerate some bad rows (bad_rows)",
					b.next+i, b.of.names[j], fault)
			}
			if !copied {
				columns[j], copied = slices.Clone(values), true
			}
			columns[j][i] = math.NaN()
			reasons[i] = alsoWrong(reasons[i], b.of.names[j], fault)
		}
	}
	return reasons, nil
}

// faultOf says which row rule a number breaks; "": none.
func faultOf(v float64) string {
	switch {
	case math.IsNaN(v):
		return "is NaN"
	case math.IsInf(v, 0):
		return "is infinite"
	default:
		return ""
	}
}

// alsoWrong adds a column and its fault to the reason that a row is bad for.
func alsoWrong(reason, column, fault string) string {
	if reason != "" {
		reason += "; "
	}
	return reason + column + " " + fault
}

// recordOf is a batch of these columns, and of reasons if there are any, null where empty.
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
