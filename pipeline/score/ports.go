package score

import (
	"context"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Reader reads rows to predict. B is the data that is kept next to them.
type Reader[B any] interface {
	// Read calls use with one unit after the other, and returns the first error of use. nil, now and
	// then, means that no unit is there at the moment. Its own errors are [Later] if the next call may
	// succeed.
	Read(ctx context.Context, use func(Unit[B]) error) error
}

// A Unit is the rows of a file, or records that came together. One model predicts them.
type Unit[B any] interface {
	// File names the file; it is zero for records.
	File(ctx context.Context) (File, error)
	// Fits returns an error unless the rows have the features of a model.
	Fits(ctx context.Context, m pass.Model) error
	// Cut calls next with the unit's pieces in their order, and returns the first error of next.
	// Only the last piece is [Piece.Last].
	Cut(ctx context.Context, by *Predictor, next func(Piece[B]) error) error
}

// A File is a file of rows. Zero means no file.
type File struct {
	Path   string // where it is opened
	Name   string // in its predictions
	Digest string // distinguishes files of the same name
}

// A Piece is consecutive rows of a unit.
type Piece[B any] struct {
	File  File
	By    *Predictor
	First int64 // number of the first row in the unit; 0 for records
	Last  bool  // of its unit
	Pause bool  // no more rows are there at the moment
	// Predict calls use with the predictions of the rows in their order, in one call or several,
	// and with the data next to them; without rows it calls use once with none. Both are valid
	// until use returns. It is called once, by any goroutine.
	Predict func(ctx context.Context, use func([]pipeline.Prediction, B) error) error
}

// A Writer writes predictions. Its errors are [Later] if a later call may succeed.
type Writer[B any] interface {
	// Pack predicts a piece and prepares its predictions. Several goroutines may call it. It
	// returns their count, and a function that sends them. One goroutine calls these functions,
	// in the order of the pieces; the next commit makes the predictions permanent. A nil send
	// means that they are permanent already.
	Pack(ctx context.Context, p Piece[B]) (send func(context.Context) error, n Counts, err error)
	// Commit makes sent predictions permanent, together with their position in the source.
	Commit(ctx context.Context) error
}

// Columns are the columns of a file that are kept next to predictions. T and V are the types of a
// column's type and of its values.
type Columns[T, V any] struct {
	Names  []string
	Types  []T
	Values [][]V // by column
}

// Records are the records of the rows of a log.
type Records interface {
	// Position is the position of the record of row i.
	Position(i int) (partition int, offset int64, key []byte)
	// Kept are the members of the record of row i to keep, as JSON; nil means that it has none.
	Kept(i int) [][]byte
	// Ends are the offsets behind the piece, by partition. They count records without a row.
	Ends() map[int]int64
	// Letter is the record of row i as it was, with headers that say its position, and why it has no
	// prediction.
	Letter(i int, reason string) Letter
}

// A Letter is a record without a prediction. Value is nil without one.
type Letter struct {
	Key, Value []byte
	Headers    []Header
}

// A Header is a header of a record.
type Header struct {
	Key   string
	Value []byte
}

// A Log is the source of [Records], for writers that commit its offsets.
type Log interface {
	// Same returns an error if the topic was made again.
	Same(ctx context.Context) error
	// Note is the text to commit next to the offsets of predictions about a subject.
	Note(subject string) string
}

// Parts are the rows of a piece by partition, in the order of their first rows.
func Parts(rows int, of Records) []Part {
	var parts []Part
	positions := map[int]int{}
	for i := range rows {
		partition, _, _ := of.Position(i)
		at, known := positions[partition]
		if !known {
			at = len(parts)
			positions[partition] = at
			parts = append(parts, Part{partition, make([]int, 0, rows-i)})
		}
		parts[at].Rows = append(parts[at].Rows, i)
	}
	return parts
}

// A Part is the rows of one partition, by their numbers.
type Part struct {
	Partition int
	Rows      []int
}

// A Due says when to commit. Zero means after each piece.
type Due struct {
	Rows  int64         // after this number of rows
	Pause bool          // when no more rows are there at the moment
	Every time.Duration // this long after the first row
}

// Counts are numbers of predictions.
type Counts struct {
	Rows    int64
	Refused int64 // rows without a prediction
	Units   int64
	Other   int64 // rows with a value of an encoded feature that is no level of the model
}

// Plus adds.
func (t Counts) Plus(more Counts) Counts {
	return Counts{t.Rows + more.Rows, t.Refused + more.Refused, t.Units + more.Units, t.Other + more.Other}
}

// Count counts predictions.
func Count(predictions []pipeline.Prediction) (n Counts) {
	for i := range predictions {
		if n.Rows++; predictions[i].Reason != "" {
			n.Refused++
		}
		if predictions[i].Other != "" {
			n.Other++
		}
	}
	return n
}

// Done is the content of one commit.
type Done struct {
	Counts

	By    string     // id of the certificate of the last rows
	Files []DoneFile // whose last rows it has
}

// A DoneFile is a file that has all its predictions.
type DoneFile struct {
	File
	Counts
}

// Events receive what a [Loop] does. Several goroutines call them.
type Events interface {
	// Adopted receives a new model that predicts from now on.
	Adopted(by *Predictor)
	// Waits receives why no row can be predicted at the moment.
	Waits(err error)
	// Failed receives why a file was not predicted, or only a part of it.
	Failed(err error)
	// Predicted receives what was committed.
	Predicted(what Done)
}
