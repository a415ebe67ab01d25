package lake

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline"
)

// mostLabelPage bounds the bytes of a page of labels, decompressed.
const mostLabelPage = 16 << 20

// A labelCursor reads the texts of a chunk as the numbers of [pipeline.Label].
type labelCursor struct {
	stored *storedCursor
	values []parquet.Value
	known  map[string]float64 // the latest labels
	nulls  int64
	texts  pipeline.ColumnTexts // of the column
}

// mostKnown bounds the labels that are remembered.
const mostKnown = 1 << 12

func newLabelCursor(src io.ReaderAt, col *column, ch chunk) *labelCursor {
	return &labelCursor{stored: newStoredCursor(src, col, ch, mostLabelPage), known: map[string]float64{}}
}

func (l *labelCursor) read(dst []float64) (finite bool, err error) {
	finite = true
	if cap(l.values) < len(dst) {
		l.values = make([]parquet.Value, len(dst))
	}
	values := l.values[:len(dst)]
	if err := l.stored.read(values); err != nil {
		return false, err
	}
	for i, v := range values {
		if v.IsNull() {
			dst[i], finite = ingest.Null.Cell(), false
			l.nulls++
			continue
		}
		if dst[i], err = l.label(v.ByteArray()); err != nil {
			return false, err
		}
	}
	return finite, nil
}

func (l *labelCursor) label(text []byte) (v float64, err error) {
	if v, ok := l.known[string(text)]; ok {
		return v, nil
	}
	if len(l.known) == mostKnown {
		clear(l.known)
	}
	v = pipeline.Label(string(text))
	if err := l.texts.Check(string(text), v); err != nil {
		return 0, err
	}
	l.known[string(text)] = v
	return v, nil
}

// checkTexts checks that a column of groups or levels by texts has text, and the keys of paths.
func checkTexts(files []*dataFile, texts pipeline.ColumnTexts) error {
	if texts.Column == "" {
		return nil
	}
	for _, f := range files {
		if c := f.column(texts.Column); !c.Text {
			return fmt.Errorf("lake: %s: column %q is %s, and its groups or levels are texts (hint: write it as text, or name numbers in the job)", f.path, c.Name, c.Type)
		}
		for _, k := range f.keys {
			if k.name != texts.Column {
				continue
			}
			if err := texts.Check(k.value, pipeline.Label(k.value)); err != nil {
				return fmt.Errorf("lake: %s: %w", f.path, err)
			}
		}
	}
	return nil
}
