package lake_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A manyTyped row has a value of each type that both formats have.
type manyTyped struct {
	Double  *float64  `parquet:"double,optional"`
	Float   float32   `parquet:"float"`
	Long    int64     `parquet:"long"`
	Int     int32     `parquet:"int"`
	Flag    bool      `parquet:"flag"`
	Level   int64     `parquet:"level,dict"`
	At      time.Time `parquet:"at,timestamp(microsecond)"`
	Price   int64     `parquet:"price,decimal(2:12)"`
	Comment string    `parquet:"comment"`
}

func manyRows(n int) []manyTyped {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]manyTyped, n)
	for i := range rows {
		x := rng.NormFloat64()
		rows[i] = manyTyped{
			&x, float32(rng.NormFloat64()), rng.Int64N(1 << 50), rng.Int32(), i%3 == 0, int64(i % 7),
			time.UnixMicro(rng.Int64N(1 << 50)).UTC(), rng.Int64N(1 << 30), "text",
		}
	}
	return rows
}

// arrowFile writes rows as an Arrow file with batches of so many rows.
func arrowFile(t testing.TB, path string, rows []manyTyped, batch int, options ...ipc.Option) {
	t.Helper()
	levels := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "comment", Type: arrow.BinaryTypes.String},
		{Name: "double", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "float", Type: arrow.PrimitiveTypes.Float32},
		{Name: "long", Type: arrow.PrimitiveTypes.Int64},
		{Name: "int", Type: arrow.PrimitiveTypes.Int32},
		{Name: "flag", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "level", Type: levels},
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{Name: "price", Type: &arrow.Decimal128Type{Precision: 12, Scale: 2}},
	}, nil)
	file, err := os.Create(path)
	fatal.If(t, err)
	w, err := ipc.NewFileWriter(file, append([]ipc.Option{ipc.WithSchema(schema)}, options...)...)
	fatal.If(t, err)
	dictionary := array.NewInt64Builder(memory.DefaultAllocator)
	dictionary.AppendValues([]int64{0, 1, 2, 3, 4, 5, 6}, nil)
	values := dictionary.NewArray()
	for part := range slices.Chunk(rows, batch) {
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(slices.Delete(slices.Clone(schema.Fields()), 6, 7), nil))
		index := array.NewInt8Builder(memory.DefaultAllocator)
		for _, r := range part {
			b.Field(0).(*array.StringBuilder).Append(r.Comment)
			if r.Double == nil {
				b.Field(1).AppendNull()
			} else {
				b.Field(1).(*array.Float64Builder).Append(*r.Double)
			}
			b.Field(2).(*array.Float32Builder).Append(r.Float)
			b.Field(3).(*array.Int64Builder).Append(r.Long)
			b.Field(4).(*array.Int32Builder).Append(r.Int)
			b.Field(5).(*array.BooleanBuilder).Append(r.Flag)
			b.Field(6).(*array.TimestampBuilder).Append(arrow.Timestamp(r.At.UnixMicro()))
			b.Field(7).(*array.Decimal128Builder).Append(decimal128.FromI64(r.Price))
			index.Append(int8(r.Level))
		}
		columns := b.NewRecord().Columns()
		columns = slices.Insert(slices.Clone(columns), 6, arrow.Array(array.NewDictionaryArray(levels, index.NewArray(), values)))
		fatal.If(t, w.Write(array.NewRecord(schema, columns, int64(len(part)))))
	}
	if err := errors.Join(w.Close(), file.Close()); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
}

var manyFeatures = []string{"at", "double", "flag", "float", "int", "level", "price"}

// digestsOf reads all shards and returns their digests.
func digestsOf(t *testing.T, path string) []dataset.ColumnDigest {
	t.Helper()
	src := open(t, lake.Config{Paths: []string{path}, Choice: dataset.Choice{Features: manyFeatures, Target: "long", Mark: true}})
	digests, err := readAll(t, src)
	fatal.If(t, err)
	return digests
}

// The same rows have the same digests as Arrow and as Parquet, whatever compression the
// Arrow file has.
func TestArrowFiles(t *testing.T) {
	rows := manyRows(25_000)
	rows[7].Double = nil
	dir := t.TempDir()
	file := filepath.Join(dir, "a.parquet")
	fatal.If(t, parquet.WriteFile(file, rows, parquet.MaxRowsPerRowGroup(10_000)))
	want := digestsOf(t, file)
	for name, options := range map[string][]ipc.Option{"plain.arrow": nil, "lz4.feather": {ipc.WithLZ4()}, "zstd.arrow": {ipc.WithZstd()}} {
		path := filepath.Join(dir, name)
		arrowFile(t, path, rows, 10_000, options...)
		if got := digestsOf(t, path); !slices.Equal(got, want) {
			t.Errorf("%s: digests %v, want %v", name, got, want)
		}
		src := open(t, lake.Config{Paths: []string{path}, Choice: dataset.Choice{Target: "long"}})
		if got := src.Columns(); !slices.Equal(got, []string{"double", "flag", "float", "int", "level", "price", "long"}) {
			t.Errorf("%s: default columns %q", name, got)
		}
		b, err := src.Open(t.Context(), 0)
		fatal.If(t, err)
		if _, err := b.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "row 7 (from 0), column \"double\" is null") {
			t.Errorf("%s: a null is reported as %v", name, err)
		}
		if found, err := src.Statistics(t.Context()); err != nil || found[0].UncountedRows != 25_000 {
			t.Errorf("%s: found %+v, %v", name, found, err)
		}
		_ = b.Close()
	}
	for _, alone := range []string{"at", "comment"} {
		_, err := lake.Open(t.Context(), lake.Config{Paths: []string{filepath.Join(dir, "plain.arrow")}, Choice: dataset.Choice{Features: []string{alone}, Target: "long"}})
		if ok := alone == "at"; ok != (err == nil) {
			t.Errorf("feature %q: %v", alone, err)
		}
	}
}

// An Arrow file that is cut short or damaged anywhere is an error or other values, never a
// panic or memory that the file does not account for.
func TestDamagedArrowFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.arrow")
	arrowFile(t, path, manyRows(50), 20, ipc.WithZstd())
	whole, err := os.ReadFile(path)
	fatal.If(t, err)
	for n := 0; n < len(whole); n += 7 {
		if err := readArrowBytes(t, whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are no error", n, len(whole))
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		data := bytes.Clone(whole)
		for range 1 + rng.IntN(3) {
			data[rng.IntN(len(data))] ^= byte(1 << rng.IntN(8))
		}
		_ = readArrowBytes(t, data) // any outcome but a panic
	}
}

// readArrowBytes reads the rows of a file with these bytes.
func readArrowBytes(t testing.TB, data []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.arrow")
	fatal.If(t, os.WriteFile(path, data, 0o600))
	src, err := lake.Open(t.Context(), lake.Config{Paths: []string{path}, Choice: dataset.Choice{Features: manyFeatures, Target: "long", Mark: true}})
	if err != nil {
		return err
	}
	_, err = readAll(t, src)
	return err
}

// FuzzArrowFile: whatever the bytes are, they are read or refused.
func FuzzArrowFile(f *testing.F) {
	for i, options := range [][]ipc.Option{nil, {ipc.WithLZ4()}, {ipc.WithZstd()}} {
		path := filepath.Join(f.TempDir(), fmt.Sprint(i))
		arrowFile(f, path, manyRows(9), 4, options...)
		data, err := os.ReadFile(path)
		fatal.If(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 6 || string(data[:6]) != "ARROW1" {
			return // that is for the readers of Parquet
		}
		_ = readArrowBytes(t, data)
	})
}
