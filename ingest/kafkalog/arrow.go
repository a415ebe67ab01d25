package kafkalog

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pacsgp/pacsgp/ingest"
)

// An arrowReader reads messages that are Arrow IPC streams: a schema, and record batches
// of any number of rows.
type arrowReader struct{ names []string }

// maxArrowBytes bounds what a message may unpack to.
const maxArrowBytes = 256 << 20

// maxDictionary bounds the values of a dictionary.
const maxDictionary = 1 << 20

// read appends the rows of a message to columns.
func (r *arrowReader) read(value []byte, columns [][]float64) (rows int, err error) {
	defer func() { // the border to a library that panics on damaged streams
		if p := recover(); p != nil {
			rows, err = 0, fmt.Errorf("it is no Arrow IPC stream: %v", p)
		}
	}()
	if err := checkFrames(value); err != nil {
		return 0, err
	}
	in, err := ipc.NewReader(bytes.NewReader(value), ipc.WithAllocator(&allowance{left: maxArrowBytes}))
	if err != nil {
		return 0, fmt.Errorf("it is no Arrow IPC stream: %w", err)
	}
	defer in.Release()
	if len(columns) != len(r.names) {
		return 0, fmt.Errorf("%d columns for %d names", len(columns), len(r.names))
	}
	fields, err := r.fields(in.Schema())
	if err != nil {
		return 0, err
	}
	for in.Next() {
		batch := in.Record()
		if batch.NumRows() < 0 || batch.NumRows() > MaxSegmentRows-int64(rows) {
			return 0, fmt.Errorf("it has more than %d rows", MaxSegmentRows)
		}
		n := int(batch.NumRows())
		if err := r.append(columns, batch, fields); err != nil {
			return 0, err
		}
		rows += n
	}
	if err := in.Err(); err != nil {
		return 0, fmt.Errorf("it is no whole Arrow IPC stream: %w", err)
	}
	return rows, nil
}

// fields are the places of the columns.
func (r *arrowReader) fields(schema *arrow.Schema) ([]int, error) {
	fields := make([]int, len(r.names))
	for j, name := range r.names {
		found := schema.FieldIndices(name)
		if len(found) != 1 {
			return nil, fmt.Errorf("it has %d columns named %q, want one", len(found), name)
		}
		fields[j] = found[0]
	}
	return fields, nil
}

// append appends the rows of a batch.
func (r *arrowReader) append(columns [][]float64, batch arrow.Record, fields []int) (err error) {
	n := int(batch.NumRows())
	for j := range columns {
		column, before := batch.Column(fields[j]), len(columns[j])
		if column.Len() != n {
			return fmt.Errorf("column %q has %d values in %d rows", r.names[j], column.Len(), n)
		}
		if columns[j], err = appendArray(columns[j], column); err != nil {
			return fmt.Errorf("column %q: %w", r.names[j], err)
		}
		if got := len(columns[j]) - before; got != n {
			return fmt.Errorf("column %q has %d values in %d rows", r.names[j], got, n)
		}
	}
	return nil
}

// An allowance allocates so many bytes and no more: what asks for more panics, which the
// border to the library turns into an error.
type allowance struct{ left int }

// Allocate allocates.
func (a *allowance) Allocate(size int) []byte {
	if size < 0 || size > a.left {
		panic(fmt.Sprintf("it claims more than %d MiB", maxArrowBytes>>20))
	}
	a.left -= size
	return memory.DefaultAllocator.Allocate(size)
}

// Reallocate allocates anew.
func (a *allowance) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) && size >= 0 {
		return b[:size]
	}
	grown := a.Allocate(size)
	copy(grown, b)
	return grown
}

// Free leaves it to the collector.
func (a *allowance) Free([]byte) {}

// appendArray appends the values of a column as float64, those that are none or cannot
// be held as faults.
func appendArray(to []float64, column arrow.Array) ([]float64, error) {
	from := len(to)
	to = slices.Grow(to, column.Len())
	switch a := column.(type) {
	case *array.Float64:
		to = append(to, a.Float64Values()...)
	case *array.Float32:
		for _, v := range a.Float32Values() {
			to = append(to, float64(v))
		}
	case *array.Int64:
		to = appendIntegers(to, a.Int64Values())
	case *array.Int32:
		to = appendIntegers(to, a.Int32Values())
	case *array.Int16:
		to = appendIntegers(to, a.Int16Values())
	case *array.Int8:
		to = appendIntegers(to, a.Int8Values())
	case *array.Uint64:
		to = appendIntegers(to, a.Uint64Values())
	case *array.Uint32:
		to = appendIntegers(to, a.Uint32Values())
	case *array.Uint16:
		to = appendIntegers(to, a.Uint16Values())
	case *array.Uint8:
		to = appendIntegers(to, a.Uint8Values())
	case *array.Boolean:
		for i := range a.Len() {
			v := 0.0
			if a.Value(i) {
				v = 1
			}
			to = append(to, v)
		}
	case *array.Timestamp:
		digits := map[arrow.TimeUnit]int{arrow.Second: 0, arrow.Millisecond: 3, arrow.Microsecond: 6, arrow.Nanosecond: 9}[a.DataType().(*arrow.TimestampType).Unit]
		for _, v := range a.TimestampValues() {
			to = append(to, ingest.Seconds(int64(v), digits))
		}
	case *array.Date32:
		for _, v := range a.Date32Values() {
			to = append(to, float64(int64(v)*86400))
		}
	case *array.Date64:
		for _, v := range a.Date64Values() {
			to = append(to, ingest.Seconds(int64(v), 3))
		}
	case *array.Dictionary:
		return appendDictionary(to, a)
	default:
		return to, fmt.Errorf("its type %s is not read as numbers", column.DataType())
	}
	if column.NullN() > 0 {
		for i := range column.Len() {
			if column.IsNull(i) {
				to[from+i] = ingest.Null.Cell()
			}
		}
	}
	return to, nil
}

// appendIntegers appends integers that float64 holds with all their neighbours.
func appendIntegers[T int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8](to []float64, values []T) []float64 {
	for _, v := range values {
		f := float64(v)
		if f > ingest.MaxInteger || f < -ingest.MaxInteger {
			f = ingest.TooLong.Cell()
		} else if f == ingest.MaxInteger && uint64(v) != ingest.MaxInteger {
			f = ingest.TooLong.Cell() // 2⁵³+1, rounded
		} else if f == -ingest.MaxInteger && int64(v) != -ingest.MaxInteger {
			f = ingest.TooLong.Cell()
		}
		to = append(to, f)
	}
	return to
}

// appendDictionary looks the values up.
func appendDictionary(to []float64, a *array.Dictionary) ([]float64, error) {
	if n := a.Dictionary().Len(); n < 0 || n > maxDictionary {
		return to, fmt.Errorf("a dictionary of %d values, want at most %d", n, maxDictionary)
	}
	values, err := appendArray(nil, a.Dictionary())
	if err != nil {
		return to, err
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			to = append(to, ingest.Null.Cell())
			continue
		}
		k := a.GetValueIndex(i)
		if k < 0 || k >= len(values) {
			return to, fmt.Errorf("a dictionary of %d values has none of number %d", len(values), k)
		}
		to = append(to, values[k])
	}
	return to, nil
}
