package sink

import (
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A predictionRow is the schema of a file of predictions.
type predictionRow struct {
	Row         int64    `parquet:"row"`
	Mean        *float64 `parquet:"mean,optional"`
	Deviation   *float64 `parquet:"deviation,optional"`
	Certificate *string  `parquet:"certificate,optional,dict"`
	Reason      *string  `parquet:"reason,optional,dict"`
}

// Predictions writes predictions as Parquet: the row's ordinal, the mean of Q
// and the standard deviation of f in raw units, and the certificate that they
// are made under. A deviation that is not known well enough is null. A row that breaks the rules has nulls and a reason, and no
// certificate: what was promised was not promised for it.
//
// It is for one goroutine at a time.
type Predictions struct {
	w           *parquet.GenericWriter[predictionRow]
	certificate parquet.Value
	columns     [5][]parquet.Value
	buffered    int
}

// NewPredictions starts a file. An empty certificate means none: the column
// is null then.
func NewPredictions(w io.Writer, certificate string) *Predictions {
	p := &Predictions{w: parquet.NewGenericWriter[predictionRow](w,
		parquet.CreatedBy("pacsgp", "1", ""), parquet.Compression(&parquet.Zstd))}
	if certificate != "" {
		p.certificate = parquet.ByteArrayValue([]byte(certificate))
	}
	return p
}

// Write appends predictions. It keeps none of them.
func (p *Predictions) Write(batch []pipeline.Prediction) error {
	for c := range p.columns {
		p.columns[c] = p.columns[c][:0]
	}
	for _, row := range batch {
		values := [5]parquet.Value{parquet.Int64Value(row.Ordinal)}
		if row.Reason == "" {
			values[1] = parquet.DoubleValue(row.Mean)
			if !math.IsNaN(row.Deviation) {
				values[2] = parquet.DoubleValue(row.Deviation)
			}
			values[3] = p.certificate
		} else {
			values[4] = parquet.ByteArrayValue([]byte(row.Reason))
		}
		for c, v := range values {
			definition := 0
			if c > 0 && !v.IsNull() {
				definition = 1
			}
			p.columns[c] = append(p.columns[c], v.Level(0, definition, c))
		}
	}
	for c, writer := range p.w.ColumnWriters() {
		if _, err := writer.WriteRowValues(p.columns[c]); err != nil {
			return fmt.Errorf("sink: write predictions: %w", err)
		}
	}
	if p.buffered += len(batch); p.buffered >= groupRows {
		p.buffered = 0
		if err := p.w.Flush(); err != nil {
			return fmt.Errorf("sink: write predictions: %w", err)
		}
	}
	return nil
}

// groupRows closes a row group of predictions: it bounds what is buffered.
const groupRows = 1 << 17

// Close writes the footer. It does not close the writer beneath.
func (p *Predictions) Close() error {
	if err := p.w.Close(); err != nil {
		return fmt.Errorf("sink: write predictions: %w", err)
	}
	return nil
}
