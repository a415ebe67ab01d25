package lake_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// storedRef reads a column of a file with the library.
func storedRef(t *testing.T, path, name string) (values []parquet.Value, node parquet.Node) {
	t.Helper()
	file, err := os.Open(path)
	fatal.If(t, err)
	t.Cleanup(func() { _ = file.Close() })
	info, err := file.Stat()
	fatal.If(t, err)
	f, err := parquet.OpenFile(file, info.Size())
	fatal.If(t, err)
	leaf, ok := f.Schema().Lookup(name)
	if !ok {
		t.Fatalf("%s has no column %s", path, name)
	}
	for _, group := range f.RowGroups() {
		pages := group.ColumnChunks()[leaf.ColumnIndex].Pages()
		for {
			page, err := pages.ReadPage()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			some := make([]parquet.Value, page.NumValues())
			if n, err := page.Values().ReadValues(some); n != len(some) || err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("%s: %d values of %d: %v", path, n, len(some), err)
			}
			for _, v := range some {
				values = append(values, v.Clone())
			}
		}
		fatal.If(t, pages.Close())
	}
	return values, leaf.Node
}

// rightInLibrary is a file with the same values in a column, which the library reads right: not LZ4
// and not booleans in runs.
func rightInLibrary(path, name string) string {
	folder, file := filepath.Split(path)
	runs := strings.HasPrefix(file, "parquetmr-20") || strings.HasPrefix(file, "pyarrow-v2pages") || file == "pyarrow-delta.parquet"
	switch {
	case file == "polars-lz4.parquet":
		return folder + "polars-uncompressed.parquet"
	case file == "pyarrow-lz4.parquet", runs && name == "rain":
		return folder + "pyarrow-none.parquet"
	}
	return path
}

// sameStored compares a column with what the library reads, value by value and to the last bit.
func sameStored(t *testing.T, path, name string, batch int) {
	t.Helper()
	want, node := storedRef(t, rightInLibrary(path, name), name)
	src, err := lake.OpenStored(t.Context(), path, []string{name}, 0)
	if err != nil {
		t.Errorf("%s, %s: %v", path, name, err)
		return
	}
	defer func() { fatal.If(t, src.Close()) }()
	if got, want := src.Columns()[0].Node.Type().String(), node.Type().String(); got != want {
		t.Errorf("%s, %s: it is %s, want %s", path, name, got, want)
	}
	for from := 0; from < len(want); from += batch {
		n := min(batch, len(want)-from)
		got, err := src.Next(t.Context(), n)
		if err != nil {
			t.Errorf("%s, %s: %v", path, name, err)
			return
		}
		for i, v := range got[0] {
			if w := want[from+i]; v.Kind() != w.Kind() || !bytes.Equal(v.AppendBytes(nil), w.AppendBytes(nil)) {
				t.Errorf("%s, %s, row %d: %v, want %v", path, name, from+i, v, w)
				return
			}
		}
	}
	if _, err := src.Next(t.Context(), 1); err == nil {
		t.Errorf("%s, %s: a row behind the last one", path, name)
	}
}

// Each column of the files of all writers is read as it is stored.
func TestStoredOfAllWriters(t *testing.T) {
	for _, folder := range []string{"same", "groups"} {
		files, err := filepath.Glob(writersData(folder, "*.parquet"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, path := range files {
			for _, name := range append([]string{writersTarget}, writersFeatures...) {
				sameStored(t, path, name, 700)
			}
		}
	}
}

// storedTable has a column of each type, in each encoding that there is of it.
func storedTable() parquet.Group {
	text, long := parquet.String(), parquet.Int(64)
	return parquet.Group{
		"text": text, "enum": parquet.Enum(), "json": parquet.JSON(), "bson": parquet.BSON(), "uuid": parquet.UUID(),
		"bytes": parquet.Leaf(parquet.ByteArrayType), "fixed": parquet.Leaf(parquet.FixedLenByteArrayType(5)),
		"lengths": parquet.Encoded(text, &parquet.DeltaLengthByteArray), "prefixes": parquet.Encoded(text, &parquet.DeltaByteArray),
		"named": parquet.Encoded(text, &parquet.RLEDictionary), "nullable": parquet.Optional(text),
		"nullable-named": parquet.Optional(parquet.Encoded(text, &parquet.RLEDictionary)), "nullable-prefixes": parquet.Optional(parquet.Encoded(text, &parquet.DeltaByteArray)),
		"long": long, "unsigned": parquet.Uint(64), "byte": parquet.Int(8), "short": parquet.Uint(16), "int": parquet.Int(32), "plain": parquet.Leaf(parquet.Int64Type),
		"delta": parquet.Encoded(long, &parquet.DeltaBinaryPacked), "delta32": parquet.Encoded(parquet.Int(32), &parquet.DeltaBinaryPacked),
		"nullable-long": parquet.Optional(long), "named-long": parquet.Encoded(long, &parquet.RLEDictionary), "nullable-delta": parquet.Optional(parquet.Encoded(long, &parquet.DeltaBinaryPacked)),
		"double": parquet.Leaf(parquet.DoubleType), "float": parquet.Leaf(parquet.FloatType), "flag": parquet.Leaf(parquet.BooleanType), "nullable-flag": parquet.Optional(parquet.Leaf(parquet.BooleanType)),
		"streams": parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.ByteStreamSplit),
		"int96":   parquet.Leaf(parquet.Int96Type), "day": parquet.Date(), "ms": parquet.Timestamp(parquet.Millisecond), "us": parquet.TimestampAdjusted(parquet.Microsecond, false), "ns": parquet.Timestamp(parquet.Nanosecond),
		"time": parquet.Time(parquet.Microsecond), "money": parquet.Decimal(2, 12, parquet.Int64Type), "small-money": parquet.Decimal(2, 9, parquet.Int32Type),
		"wide-money": parquet.Decimal(3, 38, parquet.FixedLenByteArrayType(16)), "long-money": parquet.Decimal(3, 50, parquet.ByteArrayType),
	}
}

// storedValue is a value of a type, such as a float64 does not hold where there are some.
func storedValue(node parquet.Node, rng *rand.Rand) parquet.Value {
	if node.Optional() && rng.IntN(3) == 0 {
		return parquet.Value{}
	}
	long := int64(rng.Uint64())
	if node.Encoding() != nil && node.Encoding().Encoding() == parquet.RLEDictionary.Encoding() {
		long = math.MaxInt64 - rng.Int64N(40)
	}
	switch node.Type().Kind() {
	case parquet.Boolean:
		return parquet.BooleanValue(long&1 == 0)
	case parquet.Int32:
		return parquet.Int32Value(int32(long))
	case parquet.Int64:
		return parquet.Int64Value(long)
	case parquet.Int96:
		return parquet.Int96Value(deprecated.Int96{rng.Uint32(), rng.Uint32(), rng.Uint32()})
	case parquet.Float:
		return parquet.FloatValue(math.Float32frombits(uint32(long)))
	case parquet.Double:
		return parquet.DoubleValue(math.Float64frombits(uint64(long)))
	case parquet.FixedLenByteArray:
		b := make([]byte, node.Type().Length())
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return parquet.FixedLenByteArrayValue(b)
	default:
		return parquet.ByteArrayValue(fmt.Appendf(nil, "ä %d %s", long, strings.Repeat("ab", rng.IntN(9))))
	}
}

// Each flat type comes out as it was written: integers beyond 2⁵³, texts and NaNs to the
// last bit, through all codecs and both versions of pages, whatever the number of rows
// that are asked for.
func TestStoredOfAllTypes(t *testing.T) {
	const rows = 800
	nodes := storedTable()
	dir := t.TempDir()
	for i, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Brotli} {
		for version := 1; version <= 2 && (version == 1 || i < 2); version++ {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(version)))
			path := filepath.Join(dir, fmt.Sprintf("%d-%d.parquet", i, version))
			f, err := os.Create(path)
			fatal.If(t, err)
			schema := parquet.NewSchema("row", nodes)
			w := parquet.NewGenericWriter[any](f, schema, parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(2500))
			for begin := 0; begin < rows; begin += rows / 2 {
				for c, path := range schema.Columns() {
					node := nodes[path[0]]
					var values []parquet.Value
					for range rows / 2 {
						v, level := storedValue(node, rng), 0
						if node.Optional() && !v.IsNull() {
							level = 1
						}
						values = append(values, v.Level(0, level, c))
					}
					_, err := w.ColumnWriters()[c].WriteRowValues(values)
					fatal.If(t, err)
				}
				fatal.If(t, w.Flush())
			}
			fatal.If(t, errors.Join(w.Close(), f.Close()))
			for name, node := range nodes {
				if codec.String() != "UNCOMPRESSED" && node.Type().Kind() == parquet.Boolean && version == 2 {
					continue // the library's own way with them is not that of others
				}
				sameStored(t, path, name, []int{1, 7, 1000, 5000}[rng.IntN(4)])
			}
		}
	}
}

// What is no flat column, is not there, or is too large for the memory is refused.
func TestStoredRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	type nested struct {
		List []int64 `parquet:"list,list"`
		Text string  `parquet:"text"`
		In   struct {
			X int64 `parquet:"x"`
		} `parquet:"in"`
	}
	rows := slices.Repeat([]nested{{Text: strings.Repeat("x", 1<<10)}}, 17<<10)
	fatal.If(t, parquet.WriteFile(path, rows, parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(64<<20)))
	for name, want := range map[string]string{"list": "it is a list", "in": "it is a nested group", "none": "has no column"} {
		_, err := lake.OpenStored(t.Context(), path, []string{name}, 0)
		wantError(t, err, want, name)
		if errors.Is(err, lake.ErrNotKept) != (name != "none") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for file, column := range map[string]string{"float16": "h", "duration": "du"} {
		_, err := lake.OpenStored(t.Context(), writersData("refuse", file+".parquet"), []string{column}, 0)
		if wantError(t, err, "it is ", file, `column "`+column); !errors.Is(err, lake.ErrNotKept) {
			t.Errorf("%s: %v", file, err)
		}
	}
	noFirst(t, path, "a page has", `column "text"`, "more memory")
}

// noFirst demands that the first text cannot be read, with these words.
func noFirst(t *testing.T, path string, words ...string) {
	t.Helper()
	src, err := lake.OpenStored(t.Context(), path, []string{"text"}, 0)
	fatal.If(t, err)
	_, err = src.Next(t.Context(), 1)
	wantError(t, err, words...)
	fatal.If(t, src.Close())
}

// A name that a column has and a key of the path too is refused as it is of features: it is
// not known which one is meant. Other columns of such a file are kept.
func TestStoredRefusesTwoOfAName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "long=7")
	fatal.If(t, os.MkdirAll(dir, 0o755))
	arrowFile(t, filepath.Join(dir, "a.arrow"), manyRows(5), 5)
	type row struct {
		Long int64 `parquet:"long"`
		Int  int64 `parquet:"int"`
	}
	fatal.If(t, parquet.WriteFile(filepath.Join(dir, "a.parquet"), []row{{1, 2}}))
	for _, name := range []string{"a.arrow", "a.parquet"} {
		path := filepath.Join(dir, name)
		_, err := lake.OpenStored(t.Context(), path, []string{"int", "long"}, 0)
		wantError(t, err, path, `has 2 columns named "long", one of them a key of its path; rename or remove all but one`)
		src, err := lake.OpenStored(t.Context(), path, []string{"int"}, 0)
		fatal.If(t, err)
		fatal.If(t, src.Close())
	}
}

// Columns of Arrow files are kept too, and keys of the path, which are texts.
func TestStoredOfArrowAndKeys(t *testing.T) {
	rows := manyRows(500)
	dir := filepath.Join(t.TempDir(), "day=007")
	fatal.If(t, os.MkdirAll(dir, 0o755))
	arrowFile(t, filepath.Join(dir, "a.arrow"), rows, 120)
	names := []string{"double", "float", "long", "int", "flag", "level", "at", "price", "comment", "day"}
	src, err := lake.OpenStored(t.Context(), filepath.Join(dir, "a.arrow"), names, 0)
	fatal.If(t, err)
	got, err := src.Next(t.Context(), len(rows))
	fatal.If(t, err)
	for i, r := range rows {
		want := []string{
			fmt.Sprint(*r.Double), fmt.Sprint(r.Float), fmt.Sprint(r.Long), fmt.Sprint(r.Int), fmt.Sprint(r.Flag), fmt.Sprint(r.Level),
			fmt.Sprint(r.At.UnixMicro()), "", r.Comment, "007",
		}
		for c, w := range want {
			if w != "" && got[c][i].String() != w {
				t.Errorf("row %d, %s: %v, want %s", i, names[c], got[c][i], w)
			}
		}
	}
	fatal.If(t, src.Close())
}

// Texts are read however long they are, and so with headers of pages that hold the least
// and the largest of a page, up to the memory that there is.
func TestStoredOfLongTexts(t *testing.T) {
	type row struct {
		Text  string `parquet:"text"`
		Named string `parquet:"named,dict"`
	}
	var rows []row
	for i := range 20 {
		long := strings.Repeat(string(rune('a'+i%7)), 100<<10+i)
		rows = append(rows, row{long, long[:90<<10]})
	}
	for version := 1; version <= 2; version++ {
		path := filepath.Join(t.TempDir(), "a.parquet")
		fatal.If(t, parquet.WriteFile(path, rows, parquet.DataPageVersion(version), parquet.DeprecatedDataPageStatistics(true), parquet.PageBufferSize(300<<10)))
		sameStored(t, path, "text", 7)
		sameStored(t, path, "named", 7)
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	fatal.If(t, parquet.WriteFile(path, []row{{Text: strings.Repeat("x", 24<<20)}}))
	noFirst(t, path, `column "text"`, "page header", "more memory")
}

// Writers of no rows often know neither types nor names: such a file changes nothing.
func TestFilesWithoutRows(t *testing.T) {
	type row struct{ X, Y float64 }
	type other struct{ X string }
	dir := t.TempDir()
	fatal.If(t, parquet.WriteFile(filepath.Join(dir, "a.parquet"), []other{}))
	src, err := lake.Open(t.Context(), lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Features: []string{"X"}}})
	if err != nil || len(src.Shards()) != 0 {
		t.Errorf("to predict: %v", err)
	}
	kept, err := lake.OpenStored(t.Context(), filepath.Join(dir, "a.parquet"), []string{"X", "Y"}, 0)
	if err != nil || len(kept.Columns()) != 2 {
		t.Errorf("kept columns: %v", err)
	}
	if _, err = lake.Open(t.Context(), lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Target: "Y"}}); err == nil || !strings.Contains(err.Error(), "no file has rows") {
		t.Errorf("alone: %v", err)
	}
	fatal.If(t, parquet.WriteFile(filepath.Join(dir, "b.parquet"), []row{{1, 2}}))
	src, err = lake.Open(t.Context(), lake.Config{Paths: []string{dir}, Choice: dataset.Choice{Target: "Y"}})
	if err != nil || !slices.Equal(src.Columns(), []string{"X", "Y"}) {
		t.Errorf("with another file: %v", err)
	}
}
