package sink

import (
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// places are the columns with the place of a row in a log.
var places = []Kept{
	{"partition", parquet.Int(32)},
	{"offset", parquet.Int(64)},
	{"key", parquet.Leaf(parquet.ByteArrayType)},
}

// PlaceColumns are the columns behind predictions of rows of a log: partition, offset and key
// of the record, and its kept members, as JSON.
func PlaceColumns(keep ...string) []Kept {
	columns := append([]Kept(nil), places...)
	for _, name := range keep {
		columns = append(columns, Kept{name, parquet.JSON()})
	}
	return columns
}

// CanKeepPlaced returns an error unless a kept member of a record can have this name.
func CanKeepPlaced(name string) error {
	if name == "key" {
		return errTaken(name)
	}
	return CanKeepObject(name)
}

// A Placed has predictions of rows of a log, with the columns behind them.
type Placed struct {
	predictions []pipeline.Prediction
	columns     [][]parquet.Value
}

// Add appends the prediction of a row of a record. kept are JSON values; nil means null. It
// retains key and kept.
func (b *Placed) Add(p pipeline.Prediction, partition int, offset int64, key []byte, kept ...[]byte) {
	if b.columns == nil {
		b.columns = make([][]parquet.Value, len(places)+len(kept))
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
		at := len(places) + c
		b.columns[at] = append(b.columns[at], bytesOrNull(value))
	}
}

func bytesOrNull(b []byte) parquet.Value {
	if b == nil {
		return parquet.Value{}
	}
	return parquet.ByteArrayValue(b)
}

// WritePlaced appends predictions to a file with [PlaceColumns].
func (p *Predictions) WritePlaced(b Placed) error { return p.Write(b.predictions, b.columns...) }
