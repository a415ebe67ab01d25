package sink

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

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
	w           *parquet.GenericWriter[any]
	certificate parquet.Value
	columns     [][]parquet.Value
	kept        int
	buffered    int
}

// NewPredictions starts a file. An empty certificate means none: the column
// is null then. Behind the columns of predictions there are those that are kept, of
// numbers; [CanKeep] says which names they can have.
func NewPredictions(w io.Writer, certificate string, keep ...string) *Predictions {
	fields := reflect.VisibleFields(reflect.TypeFor[predictionRow]())
	for i, name := range keep {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Kept%d", i), Type: reflect.TypeFor[*float64](),
			Tag: reflect.StructTag(`parquet:` + strconv.Quote(name+",optional")),
		})
	}
	for i := range fields {
		fields[i].Offset, fields[i].Index = 0, nil
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	p := &Predictions{
		// Predictions are noise to every codec: one that takes no memory will do. Each of
		// Zstandard's encoders takes 19 MB.
		w:    parquet.NewGenericWriter[any](w, schema, parquet.CreatedBy("pacsgp", "1", ""), parquet.Compression(&parquet.Snappy)),
		kept: len(keep), columns: make([][]parquet.Value, predictionColumns+len(keep)),
	}
	if certificate != "" {
		p.certificate = parquet.ByteArrayValue([]byte(certificate))
	}
	return p
}

const predictionColumns = 5

// CanKeep returns an error unless a kept column can have this name.
func CanKeep(name string) error {
	for field := range reflect.TypeFor[predictionRow]().Fields() {
		if own, _, _ := strings.Cut(field.Tag.Get("parquet"), ","); own == name {
			return errTaken(name)
		}
	}
	if name == "" || name == "-" || strings.ContainsAny(name, ",()\"\\") || !utf8.ValidString(name) {
		return fmt.Errorf("%q cannot be the name of a kept column: it has a comma, a quote, a bracket or a backslash", name)
	}
	return nil
}

func errTaken(name string) error { return fmt.Errorf("%q is a column of predictions", name) }

// Write appends predictions, and of each kept column as many values: NaN is written as
// null. It keeps none of them.
func (p *Predictions) Write(batch []pipeline.Prediction, kept ...[]float64) error {
	if len(kept) != p.kept {
		return fmt.Errorf("sink: %d kept columns, want %d", len(kept), p.kept)
	}
	for c := range p.columns {
		p.columns[c] = p.columns[c][:0]
	}
	for _, row := range batch {
		values := [predictionColumns]parquet.Value{parquet.Int64Value(row.Ordinal)}
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
	for c, values := range kept {
		at := predictionColumns + c
		for _, v := range values[:len(batch)] {
			value, definition := parquet.Value{}, 0
			if !math.IsNaN(v) {
				value, definition = parquet.DoubleValue(v), 1
			}
			p.columns[at] = append(p.columns[at], value.Level(0, definition, at))
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
