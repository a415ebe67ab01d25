package score

import (
	"context"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A Reader reads rows to predict. B is the type of the data that is passed through next to the rows.
type Reader[B any] interface {
	// Read calls use with one unit after the other, and returns the first error of use. It calls use with nil from time
	// to time while there is no unit. Its own errors are marked by [Later] if the next call may succeed.
	Read(ctx context.Context, use func(Unit[B]) error) error
}

// A Unit holds the rows of a file, or records that were read together. One model predicts them.
type Unit[B any] interface {
	// File names the file; it is zero for records.
	File(ctx context.Context) (File, error)
	// Fits returns an error if the rows lack features of a model.
	Fits(ctx context.Context, m pass.Model) error
	// Cut calls next with the unit's pieces in their order, and returns the first error of next.
	// Only the last piece is [Piece.Last].
	Cut(ctx context.Context, by *Predictor, next func(Piece[B]) error) error
}

// A File is a file of rows. The zero value means that there is no file.
type File struct {
	Path   string // to open it
	Name   string // as its predictions name it
	Digest string // distinguishes files of the same name
}

// A Piece holds consecutive rows of a unit.
type Piece[B any] struct {
	File  File
	By    *Predictor
	First int64 // number of the first row in the unit; 0 for records
	Last  bool  // whether it is the last of its unit
	Pause bool  // whether no more rows are there at the moment
	// Predict calls use one or more times, with predictions in the order of the rows and the data next to them. If
	// there are no rows, it calls use once without predictions. Both arguments are valid until use returns. Predict
	// is called once, from any goroutine.
	Predict func(ctx context.Context, use func([]pipeline.Prediction, B) error) error
}

// A Writer writes predictions. Its errors are marked by [Later] if a later call may succeed.
type Writer[B any] interface {
	// Pack predicts a piece and prepares its predictions for sending. It returns their counts and a function that sends
	// them. Pack may be called from several goroutines; one goroutine calls the functions send, in the order of the
	// pieces. The next Commit makes sent predictions permanent. If send is nil, they are permanent already.
	Pack(ctx context.Context, p Piece[B]) (send func(context.Context) error, n Counts, err error)
	// Commit makes sent predictions permanent, together with their position in the source.
	Commit(ctx context.Context) error
}

// Columns holds columns of a file that are passed through next to predictions. T is the type that describes the type
// of a column, and V that of values.
type Columns[T, V any] struct {
	Names  []string
	Types  []T
	Values [][]V // by column
}

// Records are the records of a log that the rows of a piece are from.
type Records interface {
	// Position returns the position and the key of the record of row i.
	Position(i int) (partition int, offset int64, key []byte)
	// Kept returns the members of the record of row i to pass through, as JSON. A nil element means that the record
	// lacks this member.
	Kept(i int) [][]byte
	// Ends returns the offsets after the piece, by partition. Records without a row are before them, too.
	Ends() map[int]int64
	// Letter returns key and value of the record of row i, unchanged; value is nil if the record has none. It calls header
	// with its headers and then with those of a dead letter: its position, and why it has no prediction.
	Letter(i int, reason string, header func(name string, value []byte)) (key, value []byte)
}

// A Log is the source of [Records], as writers that commit its offsets see it.
type Log interface {
	// Same returns an error if the topic was deleted and made again.
	Same(ctx context.Context) error
	// Note returns the text to commit next to the offsets of predictions about a subject.
	Note(subject string) string
}

// Parts returns the partitions of the n rows of a piece, in the order of their first rows, and for each the numbers of its
// rows in the piece.
func Parts(n int, records Records) (partitions []int, rows [][]int) {
	positions := map[int]int{}
	for i := range n {
		partition, _, _ := records.Position(i)
		at, known := positions[partition]
		if !known {
			at = len(partitions)
			positions[partition] = at
			partitions, rows = append(partitions, partition), append(rows, make([]int, 0, n-i))
		}
		rows[at] = append(rows[at], i)
	}
	return partitions, rows
}

// A Due says when to commit: when any of its conditions holds. With the zero value that is after each piece.
type Due struct {
	Rows  int64         // after this number of rows
	Pause bool          // when no more rows are there at the moment
	Every time.Duration // this long after the first row since the last commit; 0 means never
}

// Counts are numbers of predictions.
type Counts struct {
	Rows    int64
	Refused int64 // rows without a prediction
	Units   int64 // whole units
	Other   int64 // rows with a value of an encoded feature that is no level of the model
}

// Plus returns the sums.
func (t Counts) Plus(more Counts) Counts {
	return Counts{t.Rows + more.Rows, t.Refused + more.Refused, t.Units + more.Units, t.Other + more.Other}
}

// Count returns the counts of predictions, without Units.
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

// Done describes one commit.
type Done struct {
	Counts

	By    string     // id of the certificate of the last rows
	Files []DoneFile // files whose last rows it contains
}

// A DoneFile is a file that has all its predictions.
type DoneFile struct {
	File
	Counts
}

// Events has methods that a [Loop] calls as it proceeds, from several goroutines.
type Events interface {
	// Adopted is called with a new model that predicts from now on.
	Adopted(by *Predictor)
	// Waits is called with the reason why no row can be predicted at the moment.
	Waits(err error)
	// Failed is called with the reason why a file was not predicted, or only in part.
	Failed(err error)
	// Predicted is called after each commit.
	Predicted(what Done)
}
