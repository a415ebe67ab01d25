package lake

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
)

// A page of nulls in version 2 has no values, of which some codecs make some bytes all
// the same. Both readers read it.
func TestPageOfNulls(t *testing.T) {
	const rows = 10
	col := &column{kind: kindDouble, width: 8, physical: format.Double, deep: 1}
	for codec, pack := range packers {
		levels := runOf(rows, 0)
		h := format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: int32(len(levels))}
		body := append(levels, pack(t, nil)...)
		h.CompressedPageSize = int32(len(body))
		h.DataPageHeaderV2.Set(format.DataPageHeaderV2{NumValues: rows, NumRows: rows, NumNulls: rows, DefinitionLevelsByteLength: int32(len(levels))})
		page := append(marshalThrift(t, &h), body...)
		ch := chunk{end: int64(len(page)), rows: rows, uncompressed: int64(len(page)), codec: codec, lo: unknownBound, hi: unknownBound}
		numbers, err := valuesOfChunk(page, col, ch, largestWhole)
		for i, v := range numbers {
			if ingest.FaultOf(v) != ingest.Null {
				t.Errorf("%v, row %d: %v, want a null", codec, i, v)
			}
		}
		if err != nil {
			t.Errorf("%v: %v", codec, err)
		}
		stored := make([]parquet.Value, rows)
		c := newStoredCursor(bytes.NewReader(page), col, ch, leastStored)
		if err := guard(func() error { return c.read(stored) }); err != nil || !stored[0].IsNull() {
			t.Errorf("%v, as it is stored: %v, %v", codec, stored[0], err)
		}
	}
}
