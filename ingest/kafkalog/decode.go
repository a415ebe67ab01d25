package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/ingest"
)

// A rowDecoder decodes records into rows without a spool. It is for one goroutine at a time.
type rowDecoder struct {
	cfg     Config
	decode  decoder
	columns [][]float64 // decoded columns of the records
	records *ingest.Records
}

// CanKeep returns an error if decoders cannot keep a member of this name in this format.
func CanKeep(format, name string) error {
	if slices.Contains(placeColumns, name) {
		return fmt.Errorf("%q is no member of a record's value", name)
	}
	if format != formatJSON && format != "" {
		return fmt.Errorf("%q: only members of JSON objects can be passed through, and the format is %s", name, format)
	}
	return nil
}

// decoders returns n decoders of cfg.Columns, which share one cache of the registry. keep names
// members of records to keep next to the columns (see [CanKeep]). The end of ctx cancels requests
// to the registry. Only the fields Format, Schema, Registry, Columns and Encoded are used.
func (cfg Config) decoders(ctx context.Context, n int, keep ...string) ([]*rowDecoder, error) {
	known := cfg.schemas()
	all := make([]*rowDecoder, n)
	for i := range all {
		decode, err := cfg.decoder(ctx, known)
		if err != nil {
			return nil, err
		}
		if r, ok := decode.(*jsonReader); ok {
			r.keep(keep)
		}
		all[i] = &rowDecoder{cfg: cfg, decode: decode, columns: make([][]float64, len(cfg.decoded())), records: ingest.NewRecords(cfg.Columns, true, cfg.Encoded)}
	}
	return all, nil
}

// A decodedRows has one row for each of some records.
type decodedRows struct {
	Batch  arrow.Record   // rejected rows are marked; the caller releases it
	Faults map[int]string // by row: why a record cannot be read
	Kept   [][]byte       // kept members as JSON, row by row; nil if a record lacks the member

	Missing []int // number of nulls in each column
}

// decodeRow appends the values of a record to columns of n rows. If it cannot be read, it becomes a row of bad cells.
func decodeRow(by decoder, value []byte, n int, columns [][]float64) error {
	err := errors.New("it is a tombstone, without a value")
	if value != nil {
		err = by.read(value, columns)
	}
	if err != nil {
		for j, column := range columns {
			columns[j] = append(column[:n], math.NaN())
		}
	}
	return err
}

// rows decodes records. A record that cannot be read becomes a row of bad cells.
func (d *rowDecoder) rows(records []Record) (decodedRows, error) {
	out := decodedRows{Faults: map[int]string{}}
	for j := range d.columns {
		d.columns[j] = d.columns[j][:0]
	}
	r, keeps := d.decode.(*jsonReader)
	for i := range records {
		if keeps {
			clear(r.kept) // they are from the previous record
		}
		err := decodeRow(d.decode, records[i].Value, i, d.columns)
		if errors.Is(err, errUnavailable) {
			return out, fmt.Errorf("topic %q, partition %d, offset %d: %w", d.cfg.Topic, records[i].Partition, records[i].Offset, err)
		}
		if err != nil {
			out.Faults[i] = err.Error()
		}
		if keeps {
			out.Kept = append(out.Kept, r.kept...)
		}
	}
	out.Missing = make([]int, len(d.cfg.Columns))
	block := d.records.Block(len(records))
	decoded := 0
	for j, name := range d.cfg.Columns {
		to := block.Columns[j][:len(records)]
		if !slices.Contains(placeColumns, name) {
			copy(to, d.columns[decoded])
			decoded++
			continue
		}
		for i := range records {
			to[i] = placeCell(&records[i], name)
		}
	}
	for j, column := range block.Columns {
		for _, v := range column {
			if ingest.FaultOf(v) == ingest.Null {
				out.Missing[j]++
			}
		}
	}
	bad, _, _ := d.records.Bad(block)
	out.Batch = d.records.New(block, bad, nil)
	return out, nil
}

// placeCell returns the cell of a column with a record's position, not its value.
func placeCell(r *Record, name string) float64 {
	switch name {
	case columnPartition:
		return float64(r.Partition)
	case columnOffset:
		return ingest.Decimal(r.Offset, 0)
	case columnTime:
		return ingest.Seconds(r.Time, 3)
	default: // the name of a topic
		return ingest.NotANum.Cell()
	}
}
