package score

import (
	"context"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A Reader hands on rows to predict, with what is kept beside them: B.
type Reader[B any] interface {
	// Read hands on one unit after the other, until there are no more or use returns an error,
	// which it returns. An error of its own is [Later] if the next call may succeed.
	Read(ctx context.Context, use func(Unit[B]) error) error
}

// A Unit is rows that one model predicts: those of a file, or records that came together.
type Unit[B any] interface {
	// File says which file it is; records are none.
	File(ctx context.Context) (File, error)
	// Fits returns an error unless the rows have the features of a model.
	Fits(ctx context.Context, m pipeline.Model) error
	// Cut hands on the unit's pieces in their order, until next returns an error, which it
	// returns. Only the last one is [Piece.Last].
	Cut(ctx context.Context, by *Predictor, next func(Piece[B]) error) error
}

// A File is a file of rows. Its zero value is none.
type File struct {
	Path   string // where it is opened
	Name   string // by which its predictions know it
	Digest string // that tells it from others of this name
}

// A Piece is consecutive rows of a unit.
type Piece[B any] struct {
	File  File
	By    *Predictor
	First int64 // number of the first row in the unit; of records 0
	Last  bool  // of its unit
	Pause bool  // behind it nothing is there at the moment
	// Predict hands on the predictions of the rows in their order, in one go or in several,
	// with what is kept beside them; where there are none it calls use with nothing. Both are
	// valid until use returns. It is called once, by any goroutine.
	Predict func(ctx context.Context, use func([]pipeline.Prediction, B) error) error
}

// A Writer takes predictions to where they go. An error is [Later] if the same may succeed in
// a while.
type Writer[B any] interface {
	// Pack predicts a piece and prepares what comes of it. Several goroutines may call it. It
	// returns how many predictions there are, and what sends them: that is called by one
	// goroutine, in the order of the pieces, and then the next commit makes them last. A nil
	// send means that they are there for good.
	Pack(ctx context.Context, p Piece[B]) (send func(context.Context) error, n Tally, err error)
	// Commit makes what was sent permanent, together with its position in the source.
	Commit(ctx context.Context) error
}

// Columns are columns of a file beside predictions, with types T and values V of its format.
type Columns[T, V any] struct {
	Names  []string
	Types  []T
	Values [][]V // by column
}

// Records are the records that rows of a log are of.
type Records interface {
	// Place is the place of the record of row i.
	Place(i int) (partition int, offset int64, key []byte)
	// Kept are the members of the record of row i that are kept, as JSON; nil: it has none.
	Kept(i int) [][]byte
	// Ends are the offsets behind the piece, by partition, with those of records without a row.
	Ends() map[int]int64
}

// A Log is the source of [Records], for writers that commit its offsets.
type Log interface {
	// Same returns an error if the topic was made anew.
	Same(ctx context.Context) error
	// Note is the text beside the offsets of predictions about a subject.
	Note(subject string) string
}

// Parts are the rows of a piece by their partitions, in the order of the first ones.
func Parts(rows int, of Records) []Part {
	var parts []Part
	places := map[int]int{}
	for i := range rows {
		partition, _, _ := of.Place(i)
		at, known := places[partition]
		if !known {
			at = len(parts)
			places[partition] = at
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

// A Due says when to commit; its zero value: whenever something was sent.
type Due struct {
	Rows  int64         // after so many
	Pause bool          // when nothing more is there at the moment
	Every time.Duration // so long after the first row
}

// A Tally counts predictions.
type Tally struct {
	Rows    int64
	Refused int64 // rows without a prediction
	Units   int64
}

// Plus adds.
func (t Tally) Plus(more Tally) Tally {
	return Tally{t.Rows + more.Rows, t.Refused + more.Refused, t.Units + more.Units}
}

// Count counts predictions.
func Count(predictions []pipeline.Prediction) (n Tally) {
	for i := range predictions {
		if n.Rows++; predictions[i].Reason != "" {
			n.Refused++
		}
	}
	return n
}

// Done is what was committed at once.
type Done struct {
	Tally

	By    string     // id of the certificate of the last of them
	Files []DoneFile // whose last rows are among them
}

// A DoneFile is a file that has all its predictions.
type DoneFile struct {
	File
	Tally

	Whole int64 // rows of the file; those beyond Tally were predicted by an earlier process
}

// Events are told what a [Loop] does, by several goroutines, each at its time.
type Events interface {
	// Adopted is told of another model that predicts from now on.
	Adopted(by *Predictor)
	// Waits is told why nothing can be predicted at the moment.
	Waits(err error)
	// Failed is told why a file could not be predicted, or not whole.
	Failed(err error)
	// Predicted is told what was committed.
	Predicted(what Done)
}
