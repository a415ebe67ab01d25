package sink

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/pipeline"
)

// PredictionObjects writes predictions as JSON objects, with the columns of [Predictions].
// Before the number of the row come the partition and the offset of its record.
type PredictionObjects struct {
	certificate []byte // JSON
	names       [][]byte
}

// NewPredictionObjects returns a writer of predictions under a certificate; "" means none. Kept
// members come last; [CanKeepObject] checks their names.
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

// CanKeepObject returns an error unless a kept member of a record can have this name.
func CanKeepObject(name string) error {
	if name == "partition" || name == "offset" {
		return errTaken(name)
	}
	return CanKeep(name)
}

func quoted(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		panic("sink: " + err.Error()) // a string always has a form
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
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(to, "null"...)
	}
	return strconv.AppendFloat(to, v, 'g', -1, 64)
}
