package sink

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// PredictionObjects writes predictions as JSON objects. They have the members partition and offset,
// then those named like the columns of [Predictions], then the kept members.
type PredictionObjects struct {
	certificate []byte // JSON
	names       [][]byte
}

// NewPredictionObjects returns a writer. certificate is the id of the certificate, or "" for none.
// keep names the kept members, which come last; [CanKeep] checks these names.
func NewPredictionObjects(certificate string, keep ...string) PredictionObjects {
	o := PredictionObjects{certificate: []byte("null")}
	if certificate != "" {
		o.certificate = quoted(certificate)
	}
	for _, name := range keep {
		o.names = append(o.names, quoted(name))
	}
	return o
}

func quoted(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		panic("sink: " + err.Error()) // a string always has a JSON form
	}
	return out
}

// Append appends the prediction of a row of a record. kept are JSON values; nil means null.
func (o PredictionObjects) Append(to []byte, partition int, offset int64, row int, p pipeline.Prediction, kept ...[]byte) []byte {
	to = append(to, `{"partition":`...)
	to = strconv.AppendInt(to, int64(partition), 10)
	to = append(to, `,"offset":`...)
	to = strconv.AppendInt(to, offset, 10)
	to = append(to, `,"row":`...)
	to = strconv.AppendInt(to, int64(row), 10)
	if p.Reason != "" {
		to = append(to, `,"mean":null,"deviation":null,"predictive_deviation":null,"certificate":null,"reason":`...)
		to = append(to, quoted(p.Reason)...)
	} else {
		to = appendNumber(append(to, `,"mean":`...), p.Mean)
		to = appendNumber(append(to, `,"deviation":`...), p.Deviation)
		to = appendNumber(append(to, `,"predictive_deviation":`...), p.PredictiveDeviation)
		to = append(append(to, `,"certificate":`...), o.certificate...)
		to = append(to, `,"reason":null`...)
	}
	for i, name := range o.names {
		to = append(append(append(to, ','), name...), ':')
		if value := kept[i]; value != nil && utf8.Valid(value) {
			to = append(to, value...)
		} else {
			to = append(to, "null"...)
		}
	}
	return append(to, '}')
}

// appendNumber appends a number, or null if it is not finite.
func appendNumber(to []byte, v float64) []byte {
	if !finite(v) {
		return append(to, "null"...)
	}
	return strconv.AppendFloat(to, v, 'g', -1, 64)
}

// positions are the columns with a record's position in a log.
var positions = []Kept{
	{"partition", parquet.Int(32)},
	{"offset", parquet.Int(64)},
	{"key", parquet.Leaf(parquet.ByteArrayType)},
}

// PositionColumns returns the columns that follow predictions of rows of a log: partition, offset
// and key of the record, and its kept members as JSON.
func PositionColumns(keep ...string) []Kept {
	columns := append([]Kept(nil), positions...)
	for _, name := range keep {
		columns = append(columns, Kept{name, parquet.JSON()})
	}
	return columns
}

// A Positioned has predictions of rows of a log and the values of their [PositionColumns].
type Positioned struct {
	Predictions []pipeline.Prediction
	Columns     [][]parquet.Value
}

// Add appends the prediction of a row of a record. kept are JSON values; nil means null. Add keeps
// references to key and kept.
func (b *Positioned) Add(p pipeline.Prediction, partition int, offset int64, key []byte, kept ...[]byte) {
	if b.Columns == nil {
		b.Columns = make([][]parquet.Value, len(positions)+len(kept))
	}
	b.Predictions = append(b.Predictions, p)
	values := [...]parquet.Value{parquet.Int32Value(int32(partition)), parquet.Int64Value(offset), bytesOrNull(key)} //nolint:gosec // as Kafka numbers them
	for c, v := range values {
		b.Columns[c] = append(b.Columns[c], v)
	}
	for c, value := range kept {
		if !utf8.Valid(value) {
			value = nil
		}
		at := len(positions) + c
		b.Columns[at] = append(b.Columns[at], bytesOrNull(value))
	}
}

func bytesOrNull(b []byte) parquet.Value {
	if b == nil {
		return parquet.Value{}
	}
	return parquet.ByteArrayValue(b)
}
