package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// StoredColumns are kept columns next to predictions, with the types and values of their file.
type StoredColumns = score.Columns[parquet.Node, parquet.Value]

var _ score.Reader[StoredColumns] = (*Unpredicted)(nil)

// Unpredicted reads the files of a lake for [score.Loop]; each call of Read lists them again. It is
// for one goroutine at a time, except for the methods of pieces.
type Unpredicted struct {
	Paths       []string // files, directories and globs
	Passthrough []string // columns to keep next to the predictions
	Labels      bool     // the target is read too
	Whole       bool     // a file is one piece; else each of its batches is
	Decoders    int
	Pages       int64       // bytes of memory for pages of a file, and as many for those of kept columns
	Empty       func(error) // called with the reason why a path holds no file; if it is nil, Read returns the error
	// Name returns the name of a file among predictions, and a digest that distinguishes it from
	// other files of this name.
	Name func(File) (name, digest string)

	known map[string]knownFile
}

// A knownFile is a file whose footer was read. info shows whether it has changed since.
type knownFile struct {
	score.File

	info fs.FileInfo
}

// Read calls use for each file that exists now.
func (r *Unpredicted) Read(ctx context.Context, use func(score.Unit[StoredColumns]) error) error {
	from := objects.NewView()
	paths, _, err := listFiles(ctx, from, r.Paths, r.Empty)
	if err != nil {
		return score.Later(err)
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := use(unpredictedFile{r, path, from}); err != nil {
			return err
		}
	}
	return nil
}

type unpredictedFile struct {
	of   *Unpredicted
	path string
	from *objects.View // of the listing
}

// File reads the footer if the file is new or has changed.
func (f unpredictedFile) File(ctx context.Context) (score.File, error) {
	info, err := f.from.Stat(ctx, f.path)
	if err != nil {
		return score.File{}, err
	}
	if is, ok := f.of.known[f.path]; ok && unchanged(is.info, info) {
		return is.File, nil
	}
	found, _, err := Files(ctx, []string{f.path})
	if err != nil {
		return score.File{}, err
	}
	name, digest := f.of.Name(found[0])
	is := score.File{Path: f.path, Name: name, Digest: digest}
	if f.of.known == nil {
		f.of.known = map[string]knownFile{}
	}
	f.of.known[f.path] = knownFile{is, info}
	return is, nil
}

// Fits opens the file for a model.
func (f unpredictedFile) Fits(ctx context.Context, m pass.Model) error {
	_, err := f.open(ctx, m)
	return err
}

func (f unpredictedFile) open(ctx context.Context, m pass.Model) (*Source, error) {
	target := ""
	if f.of.Labels {
		target = m.Meta.Target.Name
	}
	src, err := Open(ctx, Config{
		Paths: []string{f.path}, NoDigests: true,
		Choice: dataset.Choice{Features: m.Meta.Inputs(), Encoded: m.Meta.Encode, Target: target, Mark: true, Decoders: f.of.Decoders, Pages: f.of.Pages},
	})
	if err != nil {
		return nil, m.Meta.Lacks(err)
	}
	return src, m.Meta.Means(src, false)
}

// Cut calls next for the whole file, or for each batch after it was predicted.
func (f unpredictedFile) Cut(ctx context.Context, by *score.Predictor, next func(score.Piece[StoredColumns]) error) error {
	if f.of.Whole {
		return next(score.Piece[StoredColumns]{Last: true, Predict: func(ctx context.Context, use func([]pipeline.Prediction, StoredColumns) error) error {
			return f.predict(ctx, by, use)
		}})
	}
	at := int64(0)
	var columns StoredColumns
	err := f.predict(ctx, by, func(batch []pipeline.Prediction, extra StoredColumns) error {
		if columns = extra; len(batch) == 0 {
			return nil
		}
		batch, values := slices.Clone(batch), make([][]parquet.Value, len(extra.Values))
		for c := range values {
			values[c] = slices.Clone(extra.Values[c])
		}
		extra.Values = values
		first := at
		at += int64(len(batch))
		return next(score.Piece[StoredColumns]{First: first, Predict: func(_ context.Context, use func([]pipeline.Prediction, StoredColumns) error) error {
			return use(batch, extra)
		}})
	})
	if err != nil {
		return err
	}
	return next(score.Piece[StoredColumns]{First: at, Last: true, Predict: func(_ context.Context, use func([]pipeline.Prediction, StoredColumns) error) error {
		return use(nil, columns)
	}})
}

// predict calls use for each batch of predictions with the kept columns, and first without rows.
func (f unpredictedFile) predict(ctx context.Context, by *score.Predictor, use func([]pipeline.Prediction, StoredColumns) error) (err error) {
	src, err := f.open(ctx, by.Model)
	if err != nil {
		return err
	}
	kept, err := OpenStored(ctx, f.path, f.of.Passthrough, f.of.Pages/int64(max(1, len(f.of.Passthrough))))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	var extra StoredColumns
	for _, c := range kept.Columns() {
		extra.Names, extra.Types = append(extra.Names, c.Name), append(extra.Types, c.Node)
	}
	extra.Values = make([][]parquet.Value, len(extra.Names))
	if err := use(nil, extra); err != nil {
		return err
	}
	return by.Ready.Predict(ctx, src, nil, func(batch []pipeline.Prediction) (err error) {
		if extra.Values, err = kept.Next(ctx, len(batch)); err != nil {
			return err
		}
		return use(batch, extra)
	})
}

// UnitOf identifies the unit of a row by its values in all columns; "": one of them is missing.
// Numbers of all types, and times in all units, are equal if their values are.
func UnitOf(columns StoredColumns, row int) string {
	h := sha256.New()
	for c, values := range columns.Values {
		v := values[row]
		text := v.String()
		switch kind := columns.Types[c].Type().LogicalType(); {
		case v.IsNull():
			return ""
		case kind != nil:
			text = quantity(v, kind.Value)
		case v.Kind() == parquet.Float:
			text = strconv.FormatFloat(float64(v.Float()), 'f', -1, 64)
		case v.Kind() == parquet.Double:
			text = strconv.FormatFloat(v.Double(), 'f', -1, 64)
		}
		if text == "NaN" {
			return ""
		}
		_, _ = fmt.Fprintf(h, "%d %s", len(text), text) // a hash never returns an error
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// quantity returns the text of a value, of decimals and of times in seconds without zeros behind the point.
func quantity(v parquet.Value, of format.LogicalTypeValue) string {
	scale, times := 9, int64(1)
	switch of := of.(type) {
	case *format.DecimalType:
		scale = int(of.Scale)
	case *format.TimestampType:
		times = of.Unit.Value.Duration().Nanoseconds()
	default:
		return v.String()
	}
	var digits *big.Int
	switch v.Kind() {
	case parquet.Int32:
		digits = big.NewInt(int64(v.Int32()))
	case parquet.Int64:
		digits = big.NewInt(v.Int64())
	default:
		digits = ingest.Unscaled(v.ByteArray())
	}
	one := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	text := new(big.Rat).SetFrac(digits.Mul(digits, big.NewInt(times)), one).FloatString(scale)
	if scale > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
