package lake

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

var update = flag.Bool("update", false, "write testdata/hostile again")

// A hostileFile is a file that was made to be read wrongly, or at a great price.
type hostileFile struct {
	name string
	data []byte
	want string // words of the refusal, when it is opened or read; "" if it is honest
	long bool   // it has too many rows to be read in a test
}

// codecs of pages, and how they are made.
var packers = map[format.CompressionCodec]func(t testing.TB, b []byte) []byte{
	format.Uncompressed: func(_ testing.TB, b []byte) []byte { return b },
	format.Snappy:       func(_ testing.TB, b []byte) []byte { return snappy.Encode(nil, b) },
	format.Lz4Raw: func(t testing.TB, b []byte) []byte {
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := new(lz4.CompressorHC).CompressBlock(b, out)
		fatal.If(t, err)
		if n == 0 && len(b) < 15 { // all literals
			return append([]byte{byte(len(b)) << 4}, b...)
		}
		return out[:n]
	},
	format.Gzip: func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err := w.Write(b)
		fatal.If(t, errors.Join(err, w.Close()))
		return out.Bytes()
	},
	format.Brotli: func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		w := brotli.NewWriterLevel(&out, 9)
		_, err := w.Write(b)
		fatal.If(t, errors.Join(err, w.Close()))
		return out.Bytes()
	},
	format.Zstd: func(t testing.TB, b []byte) []byte {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		fatal.If(t, err)
		return w.EncodeAll(b, nil)
	},
}

// dataPage is a page of version 1 or 2 without levels that claims a size.
func dataPage(t testing.TB, version int, encoding format.Encoding, values, size int, body []byte) []byte {
	h := format.PageHeader{UncompressedPageSize: int32(size), CompressedPageSize: int32(len(body))}
	if version == 1 {
		h.Type = format.DataPage
		h.DataPageHeader.Set(format.DataPageHeader{NumValues: int32(values), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
	} else {
		h.Type = format.DataPageV2
		h.DataPageHeaderV2.Set(format.DataPageHeaderV2{NumValues: int32(values), NumRows: int32(values), Encoding: encoding})
	}
	return append(marshalThrift(t, &h), body...)
}

// tablePage is a dictionary.
func tablePage(t testing.TB, values, size int, body []byte) []byte {
	h := format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: int32(size), CompressedPageSize: int32(len(body))}
	h.DictionaryPageHeader.Set(format.DictionaryPageHeader{NumValues: int32(values), Encoding: format.Plain})
	return append(marshalThrift(t, &h), body...)
}

// handmade is a file of a row group with a column of doubles for each of some pages.
func handmade(t testing.TB, codec format.CompressionCodec, rows int64, columns [][]byte, change func(*format.FileMetaData)) []byte {
	t.Helper()
	meta := format.FileMetaData{Version: 1, NumRows: rows, Schema: []format.SchemaElement{{Name: "rows"}}}
	meta.Schema[0].NumChildren.Set(int32(len(columns)))
	group := format.RowGroup{NumRows: rows}
	file := []byte(magic)
	for i, pages := range columns {
		e := format.SchemaElement{Name: string(rune('a'+i/26)) + string(rune('a'+i%26))}
		e.Type.Set(format.Double)
		e.RepetitionType.Set(format.Required)
		meta.Schema = append(meta.Schema, e)
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: format.ColumnMetaData{
			Type: format.Double, Encoding: []format.Encoding{format.Plain, format.RLEDictionary}, PathInSchema: []string{e.Name}, Codec: codec,
			NumValues: rows, DataPageOffset: int64(len(file)), TotalCompressedSize: int64(len(pages)), TotalUncompressedSize: 1 << 40,
		}})
		file = append(file, pages...)
	}
	meta.RowGroups = []format.RowGroup{group}
	if change != nil {
		change(&meta)
	}
	footer := marshalThrift(t, &meta)
	return append(binary.LittleEndian.AppendUint32(append(file, footer...), uint32(len(footer))), magic...)
}

// withTail is a file that has only a footer.
func withTail(footer []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(append([]byte(magic), footer...), uint32(len(footer))), magic...)
}

// runOf is a run of one index or level in a width of a byte at most.
func runOf(n int, value byte) []byte { return append(binary.AppendUvarint(nil, uint64(n)<<1), value) }

// hostileFiles are one of each kind that has brought a reader down, or could.
func hostileFiles(t testing.TB) []hostileFile {
	t.Helper()
	const bomb = 5 << 18 // more than ten values have
	files := []hostileFile{
		{name: "lists-in-lists", data: withTail(bytes.Repeat([]byte{0x19}, 1<<16)), want: "nested"},
		{name: "list-of-two-gigabytes", data: withTail(append([]byte{0x15, 2, 0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07}, make([]byte, 100)...)), want: "footer"},
		{name: "footer-of-the-file", data: append([]byte(magic), "\xff\xff\xff\xffPAR1"...), want: "footer claims"},
	}
	add := func(name, want string, data []byte) {
		files = append(files, hostileFile{name: name, data: data, want: want})
	}
	zero, ten := make([]byte, bomb), make([]byte, 80)
	for _, codec := range []format.CompressionCodec{format.Snappy, format.Gzip, format.Brotli, format.Zstd, format.Lz4Raw} {
		name, pack := strings.ToLower(codec.String()), packers[codec]
		body := pack(t, zero)
		refused := "column" // each library has its words
		for version, kind := range map[int]string{1: "page", 2: "page2"} {
			add("bomb-"+name+"-"+kind, "values, which have", handmade(t, codec, 10, [][]byte{dataPage(t, version, format.Plain, 10, bomb, body)}, nil))
			add("bomb-"+name+"-"+kind+"-unsaid", refused, handmade(t, codec, 10, [][]byte{dataPage(t, version, format.Plain, 10, 80, body)}, nil))
		}
		add("bomb-"+name+"-dictionary", "values, which have", handmade(t, codec, 10, [][]byte{
			slices.Concat(tablePage(t, bomb/8, bomb, body), dataPage(t, 1, format.RLEDictionary, 10, 3, pack(t, append([]byte{1}, runOf(10, 0)...)))),
		}, nil))
		add("twice-"+name, refused, handmade(t, codec, 10, [][]byte{dataPage(t, 1, format.Plain, 10, 80, slices.Concat(pack(t, ten), pack(t, ten)))}, nil))
	}

	plain := dataPage(t, 1, format.Plain, 10, 80, ten)
	claim := func(rows int64) func(*format.FileMetaData) {
		return func(m *format.FileMetaData) {
			m.NumRows, m.RowGroups[0].NumRows = rows, rows
			for i := range m.RowGroups[0].Columns {
				m.RowGroups[0].Columns[i].MetaData.NumValues = rows
			}
		}
	}
	add("two-thousand-million-rows", "a byte are read", handmade(t, format.Uncompressed, 10, [][]byte{plain}, claim(2e9)))
	add("2-to-61-rows", "rows in", handmade(t, format.Uncompressed, 10, [][]byte{plain}, claim(1<<61)))
	add("rows-below-zero", "row", handmade(t, format.Uncompressed, 10, [][]byte{plain}, claim(-1)))
	add("pages-of-2-to-31-rows", "a byte are read", handmade(t, format.Uncompressed, math.MaxInt32, [][]byte{dataPage(t, 1, format.Plain, math.MaxInt32, 80, ten)}, nil))
	levels := append(binary.AppendUvarint(nil, 1<<63), 1)
	levels = slices.Concat([]byte{byte(len(levels)), 0, 0, 0}, levels, ten)
	add("a-run-of-2-to-62", "levels", handmade(t, format.Uncompressed, 10, [][]byte{dataPage(t, 1, format.Plain, 10, len(levels), levels)}, func(m *format.FileMetaData) {
		m.Schema[1].RepetitionType.Set(format.Optional)
	}))
	for name, indexes := range map[string][]byte{"an-index-beyond-the-dictionary": append([]byte{3}, runOf(10, 7)...), "indexes-of-0-bits-that-have-some": {0, 16, 0, 16, 1}, "a-group-that-is-not-there": {1, 3<<1 | 1, 0, 0}} {
		add(name, map[bool]string{true: "index 7", false: "levels or indexes"}[indexes[0] == 3], handmade(t, format.Uncompressed, 10, [][]byte{slices.Concat(tablePage(t, 1, 8, ten[:8]), dataPage(t, 1, format.RLEDictionary, 10, len(indexes), indexes))}, nil))
	}
	add("a-boolean-of-5", "neither 0 nor 1", handmade(t, format.Uncompressed, 10, [][]byte{dataPage(t, 1, format.RLE, 10, 6, append([]byte{2, 0, 0, 0}, runOf(10, 5)...))}, func(m *format.FileMetaData) { m.Schema[1].Type.Set(format.Boolean) }))
	add("differences-in-a-huge-block", "fewer values", handmade(t, format.Uncompressed, 10, [][]byte{
		dataPage(t, 1, format.DeltaBinaryPacked, 10, 10, []byte{0x80, 0x80, 0x80, 0x80, 0x08, 1, 10, 0, 0, 0}),
	}, func(m *format.FileMetaData) {
		m.Schema[1].Type.Set(format.Int64)
		m.RowGroups[0].Columns[0].MetaData.Type = format.Int64
	}))
	add("split-too-short", "fewer values", handmade(t, format.Uncompressed, 10, [][]byte{dataPage(t, 1, format.ByteStreamSplit, 10, 79, ten[:79])}, nil))
	add("split-too-long", "after its last value", handmade(t, format.Uncompressed, 10, [][]byte{dataPage(t, 1, format.ByteStreamSplit, 10, 88, slices.Concat(ten, ten[:8]))}, nil))
	add("bytes-after-the-last-value", "after its last value", handmade(t, format.Uncompressed, 10, [][]byte{dataPage(t, 1, format.Plain, 10, 88, slices.Concat(ten, ten[:8]))}, nil))
	add("two-columns-in-one-chunk", "rows would count twice", handmade(t, format.Uncompressed, 10, [][]byte{plain, plain}, func(m *format.FileMetaData) {
		m.RowGroups[0].Columns[1].MetaData.DataPageOffset = 4
	}))
	add("one-row-group-twice", "rows would count twice", handmade(t, format.Uncompressed, 10, [][]byte{plain}, func(m *format.FileMetaData) {
		m.RowGroups, m.NumRows = append(m.RowGroups, m.RowGroups[0]), 20
	}))
	add("pages-in-the-footer", "data end at", handmade(t, format.Uncompressed, 10, [][]byte{plain}, func(m *format.FileMetaData) {
		m.RowGroups[0].Columns[0].MetaData.TotalCompressedSize = math.MaxInt64
	}))
	add("a-null-that-is-none", "claims 10 bytes and 3 nulls", handmade(t, format.Uncompressed, 10, [][]byte{plain}, func(m *format.FileMetaData) {
		m.RowGroups[0].Columns[0].MetaData.TotalUncompressedSize = 10
		m.RowGroups[0].Columns[0].MetaData.Statistics.NullCount = 3
	}))
	add("two-meanings", "column", handmade(t, format.Uncompressed, 10, [][]byte{plain}, func(m *format.FileMetaData) {
		m.Schema[1].ConvertedType.Set(deprecated.TimestampMicros)
	}))
	add("a-name-that-is-obeyed", "", handmade(t, format.Uncompressed, 10, [][]byte{plain}, func(m *format.FileMetaData) {
		name := "x\x1b[2J\u202e\u2028"
		m.Schema[1].Name, m.RowGroups[0].Columns[0].MetaData.PathInSchema = name, []string{name}
	}))

	// Two thousand million rows of two values in one page.
	const many = 2_000_000_000
	body := slices.Concat([]byte{1}, runOf(many/2, 0), runOf(many/2, 1))
	halves := slices.Concat(tablePage(t, 2, 16, append(make([]byte, 14), 0xF0, 0x3F)), dataPage(t, 1, format.RLEDictionary, many, len(body), body))
	add("rows-in-few-bytes", "a byte are read", handmade(t, format.Uncompressed, many, [][]byte{halves, halves}, nil))

	// Honest: many pages of them.
	const pages, each = 100, 2_000_000
	body = slices.Concat([]byte{1}, runOf(each/2, 0), runOf(each/2, 1))
	halves = slices.Concat(tablePage(t, 2, 16, append(make([]byte, 14), 0xF0, 0x3F)), bytes.Repeat(dataPage(t, 1, format.RLEDictionary, each, len(body), body), pages))
	files = append(files, hostileFile{name: "honest-rows-in-few-bytes", data: handmade(t, format.Uncompressed, pages*each, [][]byte{halves, halves}, nil), long: true})
	slices.SortFunc(files, func(a, b hostileFile) int { return strings.Compare(a.name, b.name) })
	return files
}

// The files of testdata/hostile are what hostileFiles makes (go test -run Hostile
// -update writes them). Each is refused in words, or is read, within a second and in
// little memory.
func TestHostileFiles(t *testing.T) {
	dir := filepath.Join("testdata", "hostile")
	for _, f := range hostileFiles(t) {
		t.Run(f.name, func(t *testing.T) {
			path := filepath.Join(dir, f.name+".parquet")
			if *update {
				fatal.If(t, os.WriteFile(path, f.data, 0o600))
			}
			kept, err := os.ReadFile(path)
			fatal.If(t, err)
			before, began := allocated(), time.Now()
			src, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Mark: true}})
			if err == nil && !f.long {
				_, err = marked(t, src)
			}
			if took, used := time.Since(began), allocated()-before; took > 5*time.Second || used > uint64(16*len(kept)+12<<20) {
				t.Errorf("%v and %d KiB for %d bytes", took, used>>10, len(kept))
			}
			if (err == nil) != (f.want == "") || err != nil && !strings.Contains(err.Error(), f.want) {
				t.Errorf("%v, want %q", err, f.want)
			}
		})
	}
}
