// Package scoretest has what each writer of package score has to do, as a test.
package scoretest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// A FileWriter writes predictions of files, and ends as a process does: what it has not
// committed by then is lost.
type FileWriter[B any] interface {
	score.Writer[B]
	Has(f score.File) (bool, error)
}

// TestFileWriter demands of a writer of predictions of files what [score.Loop] relies on: each row
// has one prediction, whatever was sent by a process that ended before it was committed. open
// begins to write to one location, as a process that ends the one before; next to are the kept values
// of so many rows; found are the rows of a file that readers see, in order.
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

	// Rows that cannot be read are no fault of the writer, and leave nothing.
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

// A contract is what a writer is asked with, and what it is seen to have written.
type contract[B any] struct {
	extra func(rows int) B
	found func(t *testing.T, f score.File) []int64
}

func fileOf(name string) score.File {
	return score.File{Path: name, Name: name, Digest: "0123456789abcdef"}
}

// piece is all rows of a file, by one model.
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

// expect demands the first rows of a file, so many, each once and in order.
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

// PieceWith is the predictions of so many rows from one on: their numbers, with what is
// next to them.
func PieceWith[B any](first, rows int, last bool, extra B) score.Piece[B] {
	return score.Piece[B]{First: int64(first), Last: last, Predict: func(_ context.Context, use func([]pipeline.Prediction, B) error) error {
		batch := make([]pipeline.Prediction, rows)
		for i := range batch {
			batch[i] = pipeline.Prediction{Ordinal: int64(first + i), Mean: float64(first + i)}
		}
		return use(batch, extra)
	}}
}
