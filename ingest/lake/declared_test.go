package lake_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A decimal of too many digits is a bad value. An integer that other readers wrap around refuses its file.
func TestValuesBeyondTheirType(t *testing.T) {
	fixed := func(b ...byte) parquet.Value { return parquet.FixedLenByteArrayValue(b) }
	for name, c := range map[string]struct {
		node            parquet.Node
		least, most     parquet.Value
		beneath, beyond parquet.Value
	}{
		"int8":         {parquet.Int(8), parquet.Int32Value(-128), parquet.Int32Value(127), parquet.Int32Value(-129), parquet.Int32Value(128)},
		"int16":        {parquet.Int(16), parquet.Int32Value(-32768), parquet.Int32Value(32767), parquet.Int32Value(-32769), parquet.Int32Value(32768)},
		"uint8":        {parquet.Uint(8), parquet.Int32Value(0), parquet.Int32Value(255), parquet.Int32Value(-1), parquet.Int32Value(256)},
		"uint16":       {parquet.Uint(16), parquet.Int32Value(0), parquet.Int32Value(65535), parquet.Int32Value(-1), parquet.Int32Value(65536)},
		"decimal(4,1)": {parquet.Decimal(1, 4, parquet.Int32Type), parquet.Int32Value(-9999), parquet.Int32Value(9999), parquet.Int32Value(-10000), parquet.Int32Value(10000)},
		"decimal(12,0)": {
			parquet.Decimal(0, 12, parquet.Int64Type), parquet.Int64Value(-999_999_999_999), parquet.Int64Value(999_999_999_999),
			parquet.Int64Value(-1_000_000_000_000), parquet.Int64Value(1_000_000_000_000),
		},
		"decimal(3,0) in bytes": {parquet.Decimal(0, 3, parquet.FixedLenByteArrayType(2)), fixed(0xFC, 0x19), fixed(3, 0xE7), fixed(0xFC, 0x18), fixed(3, 0xE8)},
	} {
		for i, v := range []parquet.Value{c.least, c.most, c.beneath, c.beyond} {
			path := filepath.Join(t.TempDir(), "rows.parquet")
			file, err := os.Create(path)
			fatal.If(t, err)
			w := parquet.NewGenericWriter[any](file, parquet.NewSchema("rows", parquet.Group{"x": c.node}))
			_, err = w.ColumnWriters()[0].WriteRowValues([]parquet.Value{v.Level(0, 0, 0)})
			fatal.If(t, errors.Join(err, w.Close(), file.Close()))
			src := open(t, lake.Config{Paths: []string{path}, Choice: dataset.Choice{Features: []string{"x"}}})
			_, err = pipelinetest.Each(t.Context(), src, 0, func(arrow.Record) {})
			bad, is := errors.AsType[*ingest.RejectedRowError](err)
			if wraps := name[0] != 'd'; is != (i > 1 && !wraps) || is && bad.Fault != ingest.Mistyped || wraps && (err != nil) != (i > 1) {
				t.Errorf("%s: %v: %v", name, v, err)
			}
		}
	}
}
