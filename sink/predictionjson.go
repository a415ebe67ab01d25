package sink

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// PredictionObjects writes predictions as JSON objects, with the columns of [Predictions].
// Before the number of the row come the file, or the partition and the offset of its record.
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
	return o.append(to, int64(row), p, kept)
}

// append appends the members of an object behind the place of its row.
func (o PredictionObjects) append(to []byte, row int64, p pipeline.Prediction, kept [][]byte) []byte {
	to = append(to, `,"row":`...)
	to = strconv.AppendInt(to, row, 10)
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

// FileObjects writes predictions of the rows of one file as JSON objects: with the path of the
// file, the number of the row, and columns of the file as JSON. It is for one goroutine at a
// time.
type FileObjects struct {
	of     PredictionObjects
	begin  []byte // the beginning of each object, which names the file
	most   int    // largest number of bytes of an object
	forms  []KeptJSON
	values [][]byte // the kept values of a row
	size   int      // bytes of the largest batch so far
}

// NewFileObjects returns a writer of predictions under a certificate; "" means none. No object may
// have more than most bytes. [CanKeepOfFile] checks the names of kept columns.
func NewFileObjects(path, certificate string, most int, keep ...Kept) *FileObjects {
	w := &FileObjects{most: most, values: make([][]byte, len(keep))}
	var names []string
	for _, k := range keep {
		names, w.forms = append(names, k.Name), append(w.forms, NewKeptJSON(k.Node))
	}
	w.of = NewPredictionObjects(certificate, names...)
	w.begin = append([]byte(`{"file":`), quoted(path)...)
	return w
}

// CanKeepOfFile returns an error unless a kept column of a file can have this name.
func CanKeepOfFile(name string) error {
	if name == "file" {
		return errTaken(name)
	}
	return CanKeep(name)
}

// Write returns an object for each prediction except the first ones, whose number is without.
// beside has the values of the kept columns for all predictions.
func (w *FileObjects) Write(predictions []pipeline.Prediction, beside [][]parquet.Value, without int) ([][]byte, error) {
	text := make([]byte, 0, w.size) // if it grows, earlier objects keep their old memory
	objects := make([][]byte, 0, len(predictions)-without)
	for i := without; i < len(predictions); i++ {
		for c, form := range w.forms {
			w.values[c] = form(w.values[c][:0], beside[c][i])
		}
		begin := len(text)
		text = w.of.append(append(text, w.begin...), predictions[i].Ordinal, predictions[i], w.values)
		if size := len(text) - begin; size > w.most {
			return nil, fmt.Errorf("row %d: its prediction has %d bytes with the kept columns, want at most %d", predictions[i].Ordinal, size, w.most)
		}
		objects = append(objects, text[begin:len(text):len(text)])
	}
	w.size = max(w.size, len(text))
	return objects, nil
}
