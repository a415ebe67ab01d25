package lake

import (
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
		dst[i] = l.label(v.ByteArray())
	}
	return finite, nil
}

func (l *labelCursor) label(text []byte) float64 {
	if v, ok := l.known[string(text)]; ok {
		return v
	}
	if len(l.known) == mostKnown {
		clear(l.known)
	}
	v := pipeline.Label(string(text))
	l.known[string(text)] = v
	return v
}
