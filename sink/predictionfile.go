package sink

import (
	"fmt"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// FileObjects writes predictions of the rows of one file as JSON objects: with the path of the
// file, the number of the row, and columns of the file as JSON. It is for one goroutine at a
// time.
type FileObjects struct {
	of     PredictionObjects
	begin  []byte // of an object: it names the file
	most   int    // bytes of an object
	forms  []KeptJSON
	values [][]byte // of a row
	size   int      // bytes of the largest batch so far
}

// NewFileObjects writes predictions under a certificate; "": none. No object has more than most
// bytes. [CanKeepOfFile] says which names kept columns can have.
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

// CanKeepOfFile returns an error unless a kept column of a file can be a member of this name.
func CanKeepOfFile(name string) error {
	if name == "file" {
		return errTaken(name)
	}
	return CanKeep(name)
}

// Write makes an object of each prediction but the first ones, so many. beside has the values
// of the kept columns for all of them.
func (w *FileObjects) Write(predictions []pipeline.Prediction, beside [][]parquet.Value, without int) ([][]byte, error) {
	text := make([]byte, 0, w.size) // where it grows, the first objects stay where they are
	objects := make([][]byte, 0, len(predictions)-without)
	for i := without; i < len(predictions); i++ {
		for c, form := range w.forms {
			w.values[c] = form(w.values[c][:0], beside[c][i])
		}
		begin := len(text)
		text = w.of.append(append(text, w.begin...), predictions[i].Ordinal, predictions[i], w.values)
		if size := len(text) - begin; size > w.most {
			return nil, fmt.Errorf("row %d: its prediction has %d bytes with what is kept, and at most %d are taken", predictions[i].Ordinal, size, w.most)
		}
		objects = append(objects, text[begin:len(text):len(text)])
	}
	w.size = max(w.size, len(text))
	return objects, nil
}
