package sink

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A Kept column is a column that follows the columns of predictions in a file.
type Kept struct {
	Name string
	Node parquet.Node
}

// noise is the type of columns that do not compress.
var noise = parquet.Compressed(parquet.Leaf(parquet.DoubleType), &parquet.Uncompressed)

// predictionFields are the columns of a predictions file, in their order.
var predictionFields = []Kept{
	{"row", parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)},
	{"mean", parquet.Optional(noise)},
	{"deviation", parquet.Optional(noise)},
	{"predictive_deviation", parquet.Optional(noise)},
	{"certificate", parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))},
	{"reason", parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))},
}

// An inOrder is a group with its fields in the order of names. The library sorts them by name.
type inOrder struct {
	parquet.Group

	names []string
}

func (g inOrder) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.names, a.Name()) - slices.Index(g.names, b.Name())
	})
	return fields
}

// Predictions writes predictions as Parquet: the row's ordinal, the prediction, the standard
// deviations of f and of the target in raw units, and the id of the certificate. A deviation that
// is not accurate enough is null. If a row breaks a rule, reason says which, and all else is null:
// the certificate promises nothing for it. It is for one goroutine at a time.
type Predictions struct {
	w           *parquet.GenericWriter[any]
	certificate parquet.Value
	column      []parquet.Value // buffer for pieceRows values
	kept        []int64         // for each kept column: bytes of values in the open page
	buffered    int             // rows in the open row group
	bytes       int64           // of kept columns, in the closed pages of the open row group
}

// pieceRows is how many rows are written at a time: few enough for the processor's cache.
const pieceRows = 512

// NewPredictions starts a file. certificate is the id of the certificate; if it is "", that column
// is null. Kept columns come last and are written unchanged; [CanKeep] checks their names. The
// dictionary of a kept column grows to at most keptPage bytes.
func NewPredictions(w io.Writer, certificate string, keep ...Kept) *Predictions {
	columns := slices.Clone(predictionFields)
	for _, k := range keep {
		columns = append(columns, Kept{k.Name, parquet.Optional(k.Node)})
	}
	group := inOrder{Group: parquet.Group{}}
	for _, c := range columns {
		group.Group[c.Name], group.names = c.Node, append(group.names, c.Name)
	}
	schema := parquet.NewSchema("prediction", group)
	return &Predictions{
		// Predictions are noise to every codec, so that one without memory will do: each
		// encoder of Zstandard needs 19 MB.
		w: parquet.NewGenericWriter[any](
			w, schema, parquet.CreatedBy("pacsgp", "1", ""), parquet.Compression(&parquet.Snappy), parquet.DictionaryMaxBytes(keptPage),
			// Statistics of a page would put whole values into its header; the column index has only their first bytes.
			parquet.DataPageStatistics(false),
		),
		kept: make([]int64, len(keep)), column: make([]parquet.Value, pieceRows), certificate: text(certificate, certificateColumn),
	}
}

// fileKey is the metadata key for the name of the predicted file.
const fileKey = "pacsgp-file"

// Of records the name of the file whose rows are predicted. It must be called before Close.
func (p *Predictions) Of(file string) { p.w.SetKeyValueMetadata(fileKey, file) }

// PredictedFile returns the name that [Predictions.Of] recorded in a predictions file.
func PredictedFile(r io.ReaderAt, size int64) (string, error) {
	f, err := readFooter(r, size)
	if err == nil && f.keys[fileKey] == "" {
		err = fmt.Errorf("no metadata %s", fileKey)
	}
	if err != nil {
		return "", err
	}
	return f.keys[fileKey], nil
}

// The positions of columns of predictions.
const (
	rowColumn = iota
	meanColumn
	deviationColumn
	predictiveColumn
	certificateColumn
	reasonColumn
	predictionColumns
)

// text returns a value for a column of texts. "" is written as null.
func text(value string, column int) parquet.Value {
	if value == "" {
		return parquet.Value{}.Level(0, 0, column)
	}
	return parquet.ByteArrayValue([]byte(value)).Level(0, 1, column)
}

// number returns a value for a column of numbers. NaN is written as null.
func number(value float64, column int) parquet.Value {
	if math.IsNaN(value) {
		return parquet.Value{}.Level(0, 0, column)
	}
	return parquet.DoubleValue(value).Level(0, 1, column)
}

// CanKeep returns an error if name cannot be that of a kept column or member: it is empty, not
// UTF-8, a column of predictions or intervals, or one of others, such as a row's position.
func CanKeep(name string, others ...string) error {
	if slices.Contains(others, name) || name == "lower" || name == "upper" || slices.ContainsFunc(predictionFields, func(f Kept) bool { return f.Name == name }) {
		return fmt.Errorf("%q is already a column of the predictions", name)
	}
	if name == "" || !utf8.ValidString(name) {
		return fmt.Errorf("%q cannot be the name of a column", name)
	}
	return nil
}

// Write appends predictions. kept has one value a row for each kept column. Nothing is retained.
func (p *Predictions) Write(batch []pipeline.Prediction, kept ...[]parquet.Value) error {
	if len(kept) != len(p.kept) {
		return fmt.Errorf("sink: %d kept columns, want %d", len(kept), len(p.kept))
	}
	for from := 0; from < len(batch); from += pieceRows {
		to := min(from+pieceRows, len(batch))
		err := p.piece(batch[from:to], from, kept)
		if p.buffered += to - from; err == nil && (p.buffered >= groupRows || p.bytes >= groupBytes) {
			p.buffered, p.bytes = 0, 0
			clear(p.kept)
			err = p.w.Flush()
		}
		if err != nil {
			return fmt.Errorf("sink: write predictions: %w", err)
		}
	}
	return nil
}

// piece appends at most pieceRows predictions. Their values in kept begin at index from.
func (p *Predictions) piece(rows []pipeline.Prediction, from int, kept [][]parquet.Value) error {
	writers, column := p.w.ColumnWriters(), p.column[:len(rows)]
	each := func(c int, value func(row *pipeline.Prediction) parquet.Value) error {
		for i := range rows {
			column[i] = value(&rows[i])
		}
		_, err := writers[c].WriteRowValues(column)
		return err
	}
	given := func(c int, value func(row *pipeline.Prediction) parquet.Value) error {
		return each(c, func(row *pipeline.Prediction) parquet.Value {
			if row.Reason != "" {
				return parquet.Value{}.Level(0, 0, c)
			}
			return value(row)
		})
	}
	err := errors.Join(
		each(rowColumn, func(row *pipeline.Prediction) parquet.Value { return parquet.Int64Value(row.Ordinal) }),
		given(meanColumn, func(row *pipeline.Prediction) parquet.Value { return number(row.Mean, meanColumn) }),
		given(deviationColumn, func(row *pipeline.Prediction) parquet.Value { return number(row.Deviation, deviationColumn) }),
		given(predictiveColumn, func(row *pipeline.Prediction) parquet.Value { return number(row.PredictiveDeviation, predictiveColumn) }),
		given(certificateColumn, func(*pipeline.Prediction) parquet.Value { return p.certificate }),
		each(reasonColumn, func(row *pipeline.Prediction) parquet.Value { return text(row.Reason, reasonColumn) }),
	)
	for c, values := range kept {
		err = errors.Join(err, p.keep(c, values[from:from+len(rows)]))
	}
	return err
}

// keep appends at most pieceRows values of kept column c, and ends the page when its values have
// keptPage bytes. The library would count only the indexes if the page has a dictionary.
func (p *Predictions) keep(c int, values []parquet.Value) error {
	at := predictionColumns + c
	w := p.w.ColumnWriters()[at]
	from := 0
	for i, v := range values {
		definition := 1
		if v.IsNull() {
			definition = 0
		}
		p.column[i] = v.Level(0, definition, at)
		p.kept[c] += bytesOf(v)
		full := p.kept[c] >= keptPage
		if !full && i+1 < len(values) {
			continue
		}
		if _, err := w.WriteRowValues(p.column[from : i+1]); err != nil {
			return err
		}
		from = i + 1
		if full {
			p.bytes += p.kept[c]
			p.kept[c] = 0
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// bytesOf returns the largest number of bytes that a value may take in a page.
func bytesOf(v parquet.Value) int64 {
	switch v.Kind() {
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return int64(len(v.ByteArray())) + 4
	default:
		return 12
	}
}

// keptPage is the size in bytes at which a page of a kept column, or its dictionary, ends.
const keptPage = 1 << 20

// A row group is closed at groupRows rows, or at groupBytes of kept columns, to bound the buffers.
const (
	groupRows  = 1 << 17
	groupBytes = 1 << 25
)

// Close writes the footer. It does not close the underlying writer.
func (p *Predictions) Close() error {
	if err := p.w.Close(); err != nil {
		return fmt.Errorf("sink: write predictions: %w", err)
	}
	return nil
}

// EndColumns returns the columns for the two ends of a prediction interval.
func EndColumns() []Kept {
	node := parquet.Leaf(parquet.DoubleType)
	return []Kept{{"lower", node}, {"upper", node}}
}

// Ends returns the values of [EndColumns], in raw units, rounded outwards. They are below and above away from the
// mean or, if deviations > 0, that many predictive deviations; null without a prediction.
func Ends(rows []pipeline.Prediction, below, above, deviations float64) [][]parquet.Value {
	lower, upper := make([]parquet.Value, len(rows)), make([]parquet.Value, len(rows))
	for i, p := range rows {
		if deviations > 0 {
			below = deviations * p.PredictiveDeviation
			above = below
		}
		if p.Reason == "" && !math.IsNaN(below) {
			lower[i] = parquet.DoubleValue(math.Nextafter(p.Mean-below, math.Inf(-1)))
			upper[i] = parquet.DoubleValue(math.Nextafter(p.Mean+above, math.Inf(1)))
		}
	}
	return [][]parquet.Value{lower, upper}
}
