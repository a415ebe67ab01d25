package lake

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// marshalThrift encodes a structure of package format.
func marshalThrift(t testing.TB, v any) []byte {
	t.Helper()
	var protocol thrift.CompactProtocol
	b, err := thrift.Marshal(&protocol, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// zeros is n zeros as gzip packs them.
func zeros(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A page is held against its number of values before it is decompressed: some
// kilobytes can stand for as many bytes as anybody likes.
func TestPageIsNoLargerThanItsValues(t *testing.T) {
	const size = 64 << 20
	body := zeros(t, size)
	header := func(change func(h *format.PageHeader)) []byte {
		h := format.PageHeader{UncompressedPageSize: size, CompressedPageSize: int32(len(body))}
		change(&h)
		return append(marshalThrift(t, &h), body...)
	}
	for name, page := range map[string][]byte{
		"version 1": header(func(h *format.PageHeader) {
			h.Type = format.DataPage
			h.DataPageHeader.Set(format.DataPageHeader{NumValues: 10, DefinitionLevelEncoding: format.RLE})
		}),
		"version 2": header(func(h *format.PageHeader) {
			h.Type = format.DataPageV2
			h.DataPageHeaderV2.Set(format.DataPageHeaderV2{NumValues: 10, NumRows: 10})
		}),
		"dictionary": header(func(h *format.PageHeader) {
			h.Type = format.DictionaryPage
			h.DictionaryPageHeader.Set(format.DictionaryPageHeader{NumValues: size / 8})
		}),
	} {
		for _, optional := range []bool{false, true} {
			var c cursor
			var codec decompressor
			var stored []byte
			ch := chunk{end: int64(len(page)), rows: 10, uncompressed: math.MaxInt64, codec: format.Gzip, lo: unknownBound, hi: unknownBound}
			c.reset(bytes.NewReader(page), &column{kind: kindDouble, width: 8, optional: optional}, ch, &codec, &stored, largestWhole)
			before := allocated()
			err := c.read(make([]float64, 10))
			if !errors.Is(err, errMalformed) || !strings.Contains(err.Error(), "values, which have") {
				t.Errorf("%s, optional %t: %v", name, optional, err)
			}
			if used := allocated() - before; used > 4<<20 {
				t.Errorf("%s, optional %t: %d MiB were allocated for a page of %d KiB", name, optional, used>>20, len(page)>>10)
			}
		}
	}
}

// withFooter is a file with another footer in place of its own.
func withFooter(t testing.TB, file []byte, change func(*format.FileMetaData)) []byte {
	t.Helper()
	b, err := footerBytes(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var meta format.FileMetaData
	var protocol thrift.CompactProtocol
	if err := thrift.Unmarshal(&protocol, b, &meta); err != nil {
		t.Fatal(err)
	}
	change(&meta)
	footer := marshalThrift(t, &meta)
	out := append(bytes.Clone(file[:len(file)-tailLength-len(b)]), footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), magic...)
}

// Rows that no chunk has are refused when the source is opened: the passes over
// the numbers of all rows, which need no file, would go on for hours.
func TestClaimedRowsAreRefusedAtOpen(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "writers", "nulls", "null-feature-row07.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		rows   int64
		chunks bool // make the same claim
		want   string
	}{
		"two thousand million rows":      {2e9, false, "claims 40 values for 2000000000 rows"},
		"2⁶¹ rows":                       {1 << 61, false, "claims 40 values for"},
		"2⁶¹ rows that the chunks claim": {1 << 61, true, "rows in"},
	} {
		path := filepath.Join(t.TempDir(), "claim.parquet")
		claim := withFooter(t, file, func(meta *format.FileMetaData) {
			meta.NumRows, meta.RowGroups[0].NumRows = c.rows, c.rows
			for i := range meta.RowGroups[0].Columns {
				if c.chunks {
					meta.RowGroups[0].Columns[i].MetaData.NumValues = c.rows
				}
			}
		})
		if err := os.WriteFile(path, claim, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Config{Paths: []string{path}, Target: "pm"})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "claim.parquet") {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}
