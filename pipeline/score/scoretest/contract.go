// Package scoretest has the contract of a [score.Writer] as a test.
package scoretest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// A FileWriter writes predictions of files. When it ends, as when its process ends, what is not committed is lost.
type FileWriter[B any] interface {
	score.Writer[B]
	Has(f score.File) (bool, error)
}

// TestFileWriter checks what [score.Loop] needs of a writer of predictions of files: each row has one prediction, even if
// earlier processes have sent some without committing them. open returns a writer to a location that is the same for all
// calls, and a function that ends the writer. extra returns the data next to a number of rows. found returns the rows of
// a file that readers see, in order.
func TestFileWriter[B any](t *testing.T, open func(t *testing.T) (w FileWriter[B], end func()), extra func(rows int) B, found func(t *testing.T, f score.File) []int64) {
	c := contract[B]{extra, found}
	w, end := open(t)
	c.expect(t, w, "a.parquet", 0, false)
	c.put(t, w, "a.parquet", 5)
	c.put(t, w, "empty.parquet", 0)
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.expect(t, w, "a.parquet", 5, true)
	c.expect(t, w, "empty.parquet", 0, true)

	// If rows cannot be read, the writer returns that error and writes nothing.
	broken := errors.New("broken")
	p := c.piece("broken.parquet", 1)
	p.Predict = func(context.Context, func([]pipeline.Prediction, B) error) error { return broken }
	if _, _, err := w.Pack(t.Context(), p); !errors.Is(err, broken) || score.IsLater(err) {
		t.Errorf("rows that cannot be read: %v", err)
	}
	c.expect(t, w, "broken.parquet", 0, false)
	end()
	w, end = open(t)
	defer end()
	c.expect(t, w, "a.parquet", 5, true)
}

// A contract holds the functions with which TestFileWriter makes pieces and reads what was written.
type contract[B any] struct {
	extra func(rows int) B
	found func(t *testing.T, f score.File) []int64
}

func fileOf(name string) score.File {
	return score.File{Path: name, Name: name, Digest: "0123456789abcdef"}
}

// piece returns all rows of a file as one piece.
func (c contract[B]) piece(name string, rows int) score.Piece[B] {
	p := PieceWith(0, rows, true, c.extra(rows))
	p.File, p.By = fileOf(name), &score.Predictor{Artifact: score.Artifact{ID: fmt.Sprintf("%064d", 1)}, Subject: "subject"}
	return p
}

// put packs and sends rows.
func (c contract[B]) put(t *testing.T, w FileWriter[B], name string, rows int) {
	t.Helper()
	send, _, err := w.Pack(t.Context(), c.piece(name, rows))
	if err == nil && send != nil {
		err = send(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// expect fails the test unless readers see the first rows of a file, in this number, each once and in order.
func (c contract[B]) expect(t *testing.T, w FileWriter[B], name string, rows int, has bool) {
	t.Helper()
	if is, err := w.Has(fileOf(name)); is != has || err != nil {
		t.Errorf("Has(%s) = %v, %v, want %v", name, is, err, has)
	}
	got := c.found(t, fileOf(name))
	for i, row := range got {
		if row != int64(i) {
			t.Errorf("%s: row %d at location %d", name, row, i)
		}
	}
	if len(got) != rows {
		t.Errorf("%s: %d predictions, want %d", name, len(got), rows)
	}
}

// PieceWith returns a piece with predictions of rows from the number first on, and with extra next to them.
func PieceWith[B any](first, rows int, last bool, extra B) score.Piece[B] {
	return score.Piece[B]{First: int64(first), Last: last, Predict: func(_ context.Context, use func([]pipeline.Prediction, B) error) error {
		batch := make([]pipeline.Prediction, rows)
		for i := range batch {
			batch[i] = pipeline.Prediction{Ordinal: int64(first + i), Mean: float64(first + i)}
		}
		return use(batch, extra)
	}}
}
