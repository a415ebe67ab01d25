package lake

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

const claimed = 5_000_000

// claimFile is 2,000 doubles, as a writer makes them.
func claimFile(t *testing.T, codec compress.Codec, version int, node parquet.Node) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.NewSchema("rows", parquet.Group{"y": node}), parquet.Compression(codec), parquet.DataPageVersion(version))
	for i := range 2000 {
		v := parquet.DoubleValue(float64(i)*1.37).Level(0, 0, 0)
		if node.Optional() {
			v = v.Level(0, 1, 0)
		}
		_, err := w.WriteRows([]parquet.Row{{v}})
		fatal.If(t, err)
	}
	fatal.If(t, w.Close())
	return b.Bytes()
}

// withPages is the file with other pages instead of the only chunk, whose
// footer claims so many rows.
func withPages(t *testing.T, file, pages []byte, rows int64, change func(m *format.ColumnMetaData)) []byte {
	t.Helper()
	b, err := parquetmeta.Footer(bytes.NewReader(file), int64(len(file)), maxFooter)
	fatal.If(t, err)
	at := len(file) - tailLength - len(b)
	grown := append(append(bytes.Clone(file[:at]), pages...), file[at:]...)
	return withFooter(t, grown, func(meta *format.FileMetaData) {
		m := &meta.RowGroups[0].Columns[0].MetaData
		meta.NumRows, meta.RowGroups[0].NumRows, m.NumValues = rows, rows, rows
		if pages != nil {
			m.DataPageOffset, m.DictionaryPageOffset = int64(at), 0
			m.TotalCompressedSize, m.TotalUncompressedSize = int64(len(pages)), 1<<40
		}
		change(m)
	})
}

// lyingPages are the pages of the only chunk with another number of values in their
// headers.
func lyingPages(t *testing.T, file []byte, values int32) []byte {
	t.Helper()
	foot, err := readFooter(bytes.NewReader(file), int64(len(file)))
	fatal.If(t, err)
	ch, err := foot.chunk(0, &foot.columns[0])
	fatal.If(t, err)
	var pages []byte
	for rest := file[ch.start:ch.end]; len(rest) > 0; {
		_, n, err := parquetmeta.ReadPageHeader(rest)
		fatal.If(t, err)
		var h format.PageHeader
		var protocol thrift.CompactProtocol
		fatal.If(t, thrift.Unmarshal(&protocol, rest[:n], &h))
		switch h.Type {
		case format.DataPage:
			d := h.DataPageHeader.V
			d.NumValues = values
			h.DataPageHeader.Set(d)
		case format.DataPageV2:
			d := h.DataPageHeaderV2.V
			d.NumValues, d.NumRows = values, values
			h.DataPageHeaderV2.Set(d)
		default:
		}
		end := n + int(h.CompressedPageSize)
		pages = append(append(pages, marshalThrift(t, &h)...), rest[n:end]...)
		rest = rest[end:]
	}
	return pages
}

func openBytes(ctx context.Context, t *testing.T, file []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claim.parquet")
	fatal.If(t, os.WriteFile(path, file, 0o600))
	_, err := Open(ctx, Config{Paths: []string{path}, Choice: dataset.Choice{Features: []string{"y"}}})
	return err
}

// Rows that the pages of a chunk do not have are refused when the source is opened,
// whatever footer and page headers say of them, and whatever the writer was.
func TestRowsThatNoPageHasAreRefusedAtOpen(t *testing.T) {
	double := parquet.Leaf(parquet.DoubleType)
	long := parquet.Leaf(parquet.Int64Type)
	nodes := map[string]parquet.Node{
		"plain": parquet.Encoded(double, &parquet.Plain), "plain with nulls": parquet.Optional(parquet.Encoded(double, &parquet.Plain)),
		"dictionary": parquet.Encoded(double, &parquet.RLEDictionary), "dictionary with nulls": parquet.Optional(parquet.Encoded(double, &parquet.RLEDictionary)),
		"split": parquet.Encoded(double, &parquet.ByteStreamSplit), "differences": parquet.Encoded(long, &parquet.DeltaBinaryPacked),
	}
	codecs := []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Brotli}
	for name, node := range nodes {
		for _, codec := range codecs {
			for version := 1; version <= 2; version++ {
				file := claimFile(t, codec, version, node)
				lying := lyingPages(t, file, claimed)
				keep := func(*format.ColumnMetaData) {}
				silent := func(m *format.ColumnMetaData) { m.Statistics = format.Statistics{} }
				for what, c := range map[string]struct {
					pages  []byte
					change func(m *format.ColumnMetaData)
					want   string
				}{
					"the footer":                   {nil, keep, "the chunk ends 4998000 rows early"},
					"the page":                     {lying, keep, "claims 5000000 values in"},
					"the page, without statistics": {lying, silent, "claims 5000000 values in"},
				} {
					began := time.Now()
					err := openBytes(t.Context(), t, withPages(t, file, c.pages, claimed, c.change))
					if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "claim.parquet") {
						t.Errorf("%s, %v, version %d, %s: %v, want an error with %q", name, codec, version, what, err, c.want)
					}
					if took := time.Since(began); took > 20*time.Second {
						t.Errorf("%s, %v, version %d, %s: it took %v", name, codec, version, what, took)
					}
				}
			}
		}
	}
}

// Few bytes may have many rows: runs of one value or of nulls. Such files are read.
func TestManyRowsInFewBytesAreRead(t *testing.T) {
	const rows = 4_000_000
	run := func(bit byte) []byte { return append(binary.AppendUvarint(nil, rows<<1), bit) }
	page := func(h format.PageHeader, body []byte) []byte {
		h.CompressedPageSize, h.UncompressedPageSize = int32(len(body)), int32(len(body))
		return append(marshalThrift(t, &h), body...)
	}
	data := func(body []byte, encoding format.Encoding) []byte {
		h := format.PageHeader{Type: format.DataPage}
		h.DataPageHeader.Set(format.DataPageHeader{NumValues: rows, Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
		return page(h, body)
	}
	levels := func(bit byte) []byte {
		r := run(bit)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(r))), r...)
	}
	table := format.PageHeader{Type: format.DictionaryPage}
	table.DictionaryPageHeader.Set(format.DictionaryPageHeader{NumValues: 1})
	one := page(table, make([]byte, 8))
	required, optional := parquet.Leaf(parquet.DoubleType), parquet.Optional(parquet.Leaf(parquet.DoubleType))
	for name, c := range map[string]struct {
		node  parquet.Node
		pages []byte
		ok    bool
	}{
		"one value":                  {required, append(bytes.Clone(one), data(append([]byte{1}, run(0)...), format.RLEDictionary)...), true},
		"one value, no bits":         {required, append(bytes.Clone(one), data([]byte{0}, format.RLEDictionary)...), true},
		"one value, might be null":   {optional, append(bytes.Clone(one), data(append(append(levels(1), 1), run(0)...), format.RLEDictionary)...), true},
		"nulls":                      {optional, data(levels(0), format.Plain), true},
		"nulls, with a dictionary":   {optional, append(bytes.Clone(one), data(levels(0), format.RLEDictionary)...), true},
		"no dictionary":              {required, data(append([]byte{1}, run(0)...), format.RLEDictionary), false},
		"none is null, and no value": {optional, data(levels(1), format.Plain), false},
		"half of the levels":         {optional, data(append([]byte{5, 0, 0, 0}, append(binary.AppendUvarint(nil, rows), 0)...), format.Plain), false},
	} {
		file := claimFile(t, &parquet.Uncompressed, 1, c.node)
		none := func(m *format.ColumnMetaData) { m.Statistics = format.Statistics{} }
		if err := openBytes(t.Context(), t, withPages(t, file, c.pages, rows, none)); (err == nil) != c.ok {
			t.Errorf("%s: %v, want that it is read: %t", name, err, c.ok)
		}
	}
}

// What a writer makes of two million equal values is read, in all codecs.
func TestHonestConstantColumnsAreRead(t *testing.T) {
	values := make([]parquet.Value, 10_000)
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Brotli} {
		for name, node := range map[string]parquet.Node{
			"plain": parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.Plain), "dictionary": parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.RLEDictionary),
			"differences": parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked), "nulls": parquet.Optional(parquet.Leaf(parquet.DoubleType)),
		} {
			var b bytes.Buffer
			w := parquet.NewWriter(&b, parquet.NewSchema("rows", parquet.Group{"y": node}), parquet.Compression(codec))
			for i := range values {
				switch {
				case node.Optional():
					values[i] = parquet.NullValue().Level(0, 0, 0)
				case node.Type().Kind() == parquet.Int64:
					values[i] = parquet.Int64Value(3).Level(0, 0, 0)
				default:
					values[i] = parquet.DoubleValue(3).Level(0, 0, 0)
				}
			}
			for range 200 {
				_, err := w.ColumnWriters()[0].WriteRowValues(values)
				fatal.If(t, err)
			}
			fatal.If(t, w.Close())
			if err := openBytes(t.Context(), t, b.Bytes()); err != nil {
				t.Errorf("%s, %v: %v", name, codec, err)
			}
		}
	}
}
