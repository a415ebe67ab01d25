package lake

import (
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// Each type that a file can have is a name, and what is none is told from them.
func TestTypeNames(t *testing.T) {
	names := []string{"number in the path", "text in the path", "a list", aGroup, "decimal(9,2) stored as BOOLEAN"}
	for _, physical := range []format.Type{format.Boolean, format.Int32, format.Int64, format.Int96, format.Float, format.Double, format.ByteArray} {
		for kind := range int16(parquetmeta.LogicalFloat16 + 2) {
			for bits := int8(8); bits > 0; bits *= 2 {
				e := &parquetmeta.Element{Name: "x", Physical: physical, Converted: -1}
				e.Logical = parquetmeta.Logical{Kind: kind, Bits: bits, Unit: parquetmeta.UnitMicros, Precision: 9, Scale: 2}
				names = append(names, leafColumn(e, 0).Type)
			}
		}
	}
	for _, typ := range []arrow.DataType{
		arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String, arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Timestamp_ms, arrow.FixedWidthTypes.Float16,
		arrow.ListOf(arrow.Null), &arrow.Decimal128Type{Precision: 3, Scale: 1}, &arrow.FixedSizeBinaryType{ByteWidth: 3}, arrow.FixedWidthTypes.MonthInterval,
	} {
		names = append(names, arrowColumn(arrow.Field{Name: "x", Type: typ}, 0).Type)
	}
	for _, name := range names {
		if err := CheckType(name); err != nil {
			t.Error(err)
		}
	}
	for name, says := range map[string]string{
		"dobule": `; did you mean "double"?`, "integer": "int8, int16, int32", "timestamp(s)": "timestamp(ms)", "decimal(9.2)": "decimal(DIGITS,PLACES)", "": "double",
	} {
		if err := CheckType(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("CheckType(%q) = %v, want %q in it", name, err, says)
		}
	}
}
