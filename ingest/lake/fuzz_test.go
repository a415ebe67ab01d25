package lake

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// seedFiles calls use for each file of testdata of at most size bytes: what writers
// make, and what was made to bring readers down.
func seedFiles(f *testing.F, size int64, use func(b []byte)) {
	f.Helper()
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".parquet" {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > size {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil {
			use(b)
		}
		return err
	})
	fatal.If(f, err)
}

// What is read of a footer or a page header is what the library reads, in memory that
// is in proportion to the bytes. (The library reads more, and faults of which only
// memory would tell.)
func FuzzMeta(f *testing.F) {
	f.Add([]byte{0x15, 0, 0x15, 2, 0x15, 2, 0x4c, 0x15, 2, 0, 0})
	f.Add([]byte{0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07})
	f.Add(bytes.Repeat([]byte{0x19}, 1000))
	f.Add(append([]byte{0x49, 0x1C, 0x19, 0xFC, 0xE8, 0x07}, make([]byte, 1002)...))
	seedFiles(f, 1<<20, func(b []byte) {
		if foot, err := parquetmeta.Footer(bytes.NewReader(b), int64(len(b)), maxFooter); err == nil {
			f.Add(foot)
		}
		if len(b) > 200 {
			f.Add(b[4:200]) // the first page header
		}
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		before := allocated()
		meta, n, err := parquetmeta.Read(b)
		h, m, err2 := parquetmeta.ReadPageHeader(b)
		if used := allocated() - before; used > 128*uint64(len(b))+1<<18 {
			t.Errorf("%d bytes were allocated for %d", used, len(b))
		}
		var protocol thrift.CompactProtocol
		if err == nil {
			var other format.FileMetaData
			if err := guard(func() error { return thrift.Unmarshal(&protocol, b[:n], &other) }); err != nil {
				return // by what is not read here
			}
			if meta.Rows != other.NumRows || len(meta.Schema) != len(other.Schema) || len(meta.Groups) != len(other.RowGroups) {
				t.Fatalf("%d rows, %d elements, %d row groups; the library reads %d, %d, %d",
					meta.Rows, len(meta.Schema), len(meta.Groups), other.NumRows, len(other.Schema), len(other.RowGroups))
			}
			for i, e := range meta.Schema {
				o := other.Schema[i]
				if e.Name != o.Name || (e.Physical >= 0) != o.Type.Valid || e.Physical >= 0 && e.Physical != o.Type.V || e.Scale != o.Scale.V || e.Precision != o.Precision.V || e.Length != o.TypeLength.V {
					t.Errorf("element %d is %+v; the library reads %+v", i, e, o)
				}
			}
			for g, group := range meta.Groups {
				for i, c := range group.Chunks {
					o := other.RowGroups[g].Columns[i].MetaData
					if c.Values != o.NumValues || c.Codec != o.Codec || c.Data != o.DataPageOffset || c.Compressed != o.TotalCompressedSize ||
						c.Uncompressed != o.TotalUncompressedSize || c.Dictionary != o.DictionaryPageOffset || c.Stats.Nulls != o.Statistics.NullCount ||
						!bytes.Equal(c.Stats.MinValue, o.Statistics.MinValue) || !bytes.Equal(c.Stats.Max, o.Statistics.Max) {
						t.Errorf("chunk %d of row group %d is %+v; the library reads %+v", i, g, c, o)
					}
				}
			}
		}
		if err2 == nil {
			var other format.PageHeader
			if err := guard(func() error { return thrift.Unmarshal(&protocol, b[:m], &other) }); err != nil {
				return
			}
			if h.Kind != other.Type || h.Uncompressed != other.UncompressedPageSize || h.Compressed != other.CompressedPageSize || h.Sum != other.CRC {
				t.Errorf("page header %+v; the library reads %+v", h, other)
			}
			if v := other.DataPageHeaderV2.V; h.Kind == format.DataPageV2 && (h.Values != v.NumValues || h.Nulls != v.NumNulls || h.Definition != v.DefinitionLevelsByteLength) {
				t.Errorf("page header %+v; the library reads %+v", h, other)
			}
		}
	})
}

// FuzzFile reads whole files: rows come in any batches and by any number of
// decoders to the same end, there are as many as the footer says, and memory is in
// proportion to the file and its rows.
func FuzzFile(f *testing.F) {
	seedFiles(f, 1<<14, func(b []byte) { f.Add(b) })
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "f.parquet")
		fatal.If(t, os.WriteFile(path, b, 0o600))
		before := allocated()
		src, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Mark: true}})
		if err != nil {
			return
		}
		rows := src.files[0].Rows
		if rows > 1<<16 || len(src.columns) > 50 {
			return // claims that a column of one value may make
		}
		want, err := marked(t, src)
		limit := 256*uint64(len(b)) + uint64(len(src.columns)+1)*(3<<20+32*uint64(rows)) + 1<<20
		if used := allocated() - before; used > limit {
			t.Errorf("%d KiB were allocated for %d rows of %d columns in %d bytes, want at most %d KiB", used>>10, rows, len(src.columns), len(b), limit>>10)
		}
		if err == nil && int64(len(want[0])) != rows {
			t.Errorf("%d rows, the footer says %d", len(want[0]), rows)
		}
		other, err2 := Open(t.Context(), Config{Paths: []string{path}, BatchRows: 7, Choice: dataset.Choice{Mark: true, Decoders: 3}})
		if err2 != nil {
			t.Fatal(err2)
		}
		got, err2 := marked(t, other)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("at once: %v; in batches of 7: %v", err, err2)
		}
		for j := range want {
			if err == nil && !slices.EqualFunc(got[j], want[j], sameBits) {
				t.Errorf("column %q differs in batches of 7", src.columns[j])
			}
		}
	})
}

// marked reads all rows.
func marked(t *testing.T, src *Source) (columns [][]float64, err error) {
	t.Helper()
	columns = make([][]float64, len(src.columns))
	for i := range src.shards {
		_, err := pipelinetest.Each(t.Context(), src, i, func(record arrow.Record) {
			for j := range columns {
				columns[j] = append(columns[j], record.Column(j).(*array.Float64).Float64Values()...)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return columns, nil
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
