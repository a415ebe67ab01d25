package kafkalog

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/ingest/arrowipc"
)

// An arrowReader reads messages that are Arrow IPC streams, of any number of rows.
type arrowReader struct {
	names []string
	room  arrowipc.Allowance // reused for each message
}

// maxArrowBytes bounds an unpacked message.
const maxArrowBytes = 256 << 20

// read appends the rows of a message to columns.
func (r *arrowReader) read(value []byte, columns [][]float64) (rows int, err error) {
	defer func() { // the border to a library that panics on damaged streams
		if p := recover(); p != nil {
			rows, err = 0, fmt.Errorf("it is no Arrow IPC stream: %v", p)
		}
	}()
	r.room.Left = maxArrowBytes
	in, err := arrowipc.NewReader(value, &r.room)
	if err != nil {
		return 0, err
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

// fields returns the indices of the columns in a schema.
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
		if columns[j], err = arrowipc.Append(columns[j], column); err != nil {
			return fmt.Errorf("column %q: %w", r.names[j], err)
		}
		if got := len(columns[j]) - before; got != n {
			return fmt.Errorf("column %q has %d values in %d rows", r.names[j], got, n)
		}
	}
	return nil
}
