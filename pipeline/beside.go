package pipeline

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Beside reads the rows of a source in step with somebody who reads the same rows for
// other columns.
type Beside struct {
	src     Source
	shard   int
	batches Batches
	record  arrow.Record
	at      int // in the record
	columns [][]float64
}

// NewBeside reads all columns of a source; nil: none.
func NewBeside(src Source) *Beside {
	b := &Beside{src: src}
	if src != nil {
		b.columns = make([][]float64, len(src.Columns()))
	}
	return b
}

// Next returns the values of the next n rows by column, NaN where a value breaks a row
// rule. They are valid until the next call.
func (b *Beside) Next(ctx context.Context, n int) ([][]float64, error) {
	for c := range b.columns {
		b.columns[c] = b.columns[c][:0]
	}
	for missing := n; missing > 0 && len(b.columns) > 0; {
		if b.record == nil {
			if err := b.read(ctx); err != nil {
				return nil, err
			}
			continue
		}
		m := min(missing, int(b.record.NumRows())-b.at)
		for c := range b.columns {
			b.columns[c] = append(b.columns[c], b.record.Column(c).(*array.Float64).Float64Values()[b.at:b.at+m]...)
		}
		missing -= m
		if b.at += m; b.at == int(b.record.NumRows()) {
			b.record.Release()
			b.record, b.at = nil, 0
		}
	}
	for _, column := range b.columns {
		for i, v := range column {
			if math.IsInf(v, 0) {
				column[i] = math.NaN()
			}
		}
	}
	return b.columns, nil
}

// read opens the next shard, or reads the next record of it.
func (b *Beside) read(ctx context.Context) (err error) {
	if b.batches == nil {
		if b.batches, err = b.src.Open(ctx, b.shard); err != nil {
			return err
		}
		b.shard++
	}
	b.record, err = b.batches.Next(ctx)
	if errors.Is(err, io.EOF) {
		err = b.batches.Close()
		b.batches, b.record = nil, nil
	}
	return err
}

// Close gives up what is open.
func (b *Beside) Close() {
	if b.record != nil {
		b.record.Release()
	}
	if b.batches != nil {
		_ = b.batches.Close() // it was only read
	}
}
