package lake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// marshalThrift encodes a structure of package format.
func marshalThrift(t testing.TB, v any) []byte {
	t.Helper()
	var protocol thrift.CompactProtocol
	b, err := thrift.Marshal(&protocol, v)
	fatal.If(t, err)
	return b
}

// A page is held against its number of values before it is decompressed: some
// kilobytes can stand for as many bytes as anybody likes.
func TestPageIsNoLargerThanItsValues(t *testing.T) {
	const size = 64 << 20
	zeros := make([]byte, size)
	for _, codec := range []format.CompressionCodec{format.Snappy, format.Gzip, format.Brotli, format.Zstd} {
		body := packers[codec](t, zeros)
		for name, page := range map[string][]byte{
			"version 1":  dataPage(t, 1, format.Plain, 10, size, body),
			"version 2":  dataPage(t, 2, format.Plain, 10, size, body),
			"dictionary": tablePage(t, size/8, size, body),
		} {
			for deep := range int32(2) {
				var c cursor
				ch := chunk{end: int64(len(page)), rows: 10, uncompressed: math.MaxInt64, codec: codec, lo: unknownBound, hi: unknownBound}
				c.reset(bytes.NewReader(page), &column{kind: kindDouble, width: 8, deep: deep}, ch, new(lane), pageSlack)
				before := allocated()
				_, err := c.read(make([]float64, 10))
				if !errors.Is(err, errMalformed) || !strings.Contains(err.Error(), "values, which have") {
					t.Errorf("%v, %s, nulls %d: %v", codec, name, deep, err)
				}
				if used := allocated() - before; used > uint64(4<<20+2*len(body)) {
					t.Errorf("%v, %s, nulls %d: %d MiB were allocated for a page of %d KiB", codec, name, deep, used>>20, len(page)>>10)
				}
			}
		}
	}
}

// withFooter is a file with another footer instead of its own.
func withFooter(t testing.TB, file []byte, change func(*format.FileMetaData)) []byte {
	t.Helper()
	b, err := parquetmeta.Footer(bytes.NewReader(file), int64(len(file)), maxFooter)
	fatal.If(t, err)
	var meta format.FileMetaData
	var protocol thrift.CompactProtocol
	fatal.If(t, thrift.Unmarshal(&protocol, b, &meta))
	change(&meta)
	footer := marshalThrift(t, &meta)
	out := append(bytes.Clone(file[:len(file)-tailLength-len(b)]), footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), magic...)
}

// Rows that no chunk has are refused when the source is opened: the passes through
// the numbers of all rows, which need no file, would go on for hours.
func TestClaimedRowsAreRefusedAtOpen(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "writers", "nulls", "null-feature-row07.parquet"))
	fatal.If(t, err)
	for name, c := range map[string]struct {
		rows   int64
		chunks bool // make the same claim
		want   string
	}{
		"two million rows":               {2e6, false, "claims 40 values for 2000000 rows"},
		"400 million rows":               {4e8, false, "at most 32768 a byte are read"},
		"2⁶¹ rows":                       {1 << 61, false, "rows in"},
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
		fatal.If(t, os.WriteFile(path, claim, 0o600))
		_, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Target: "pm"}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "claim.parquet") {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}
