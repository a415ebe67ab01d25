package sink

import (
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// positions are the columns with the position of a row in a log.
var positions = []Kept{
	{"partition", parquet.Int(32)},
	{"offset", parquet.Int(64)},
	{"key", parquet.Leaf(parquet.ByteArrayType)},
}

// PositionColumns are the columns behind predictions of rows of a log: partition, offset and key
// of the record, and its kept members, as JSON.
func PositionColumns(keep ...string) []Kept {
	columns := append([]Kept(nil), positions...)
	for _, name := range keep {
		columns = append(columns, Kept{name, parquet.JSON()})
	}
	return columns
}

// CanKeepPositioned returns an error unless a kept member of a record can have this name.
func CanKeepPositioned(name string) error {
	if name == "key" {
		return errTaken(name)
	}
	return CanKeepObject(name)
}

// A Positioned has predictions of rows of a log, with the columns behind them.
type Positioned struct {
	predictions []pipeline.Prediction
	columns     [][]parquet.Value
}

// Add appends the prediction of a row of a record. kept are JSON values; nil means null. It
// retains key and kept.
func (b *Positioned) Add(p pipeline.Prediction, partition int, offset int64, key []byte, kept ...[]byte) {
	if b.columns == nil {
		b.columns = make([][]parquet.Value, len(positions)+len(kept))
	}
	b.predictions = append(b.predictions, p)
	values := [...]parquet.Value{parquet.Int32Value(int32(partition)), parquet.Int64Value(offset), bytesOrNull(key)} //nolint:gosec // as Kafka numbers them
	for c, v := range values {
		b.columns[c] = append(b.columns[c], v)
	}
	for c, value := range kept {
		if !utf8.Valid(value) {
			value = nil
		}
		at := len(positions) + c
		b.columns[at] = append(b.columns[at], bytesOrNull(value))
	}
}

func bytesOrNull(b []byte) parquet.Value {
	if b == nil {
		return parquet.Value{}
	}
	return parquet.ByteArrayValue(b)
}

// WritePositioned appends predictions to a file with [PositionColumns].
func (p *Predictions) WritePositioned(b Positioned) error {
	return p.Write(b.predictions, b.columns...)
}
