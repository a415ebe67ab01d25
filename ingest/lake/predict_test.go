package lake

import (
	"testing"

	"github.com/parquet-go/parquet-go"
)

// Equal decimals and equal times are the same unit, however they are stored.
func TestUnitsByValue(t *testing.T) {
	unit := func(node parquet.Node, value any) string {
		return UnitOf(StoredColumns{Types: []parquet.Node{node}, Values: [][]parquet.Value{{parquet.ValueOf(value)}}}, 0)
	}
	double := parquet.Leaf(parquet.DoubleType)
	second := func(u parquet.TimeUnit, count int64) string { return unit(parquet.Timestamp(u), count) }
	for _, c := range [][2]string{
		{unit(parquet.Decimal(2, 9, parquet.Int32Type), int32(1500)), unit(parquet.Decimal(1, 18, parquet.Int64Type), int64(150))},
		{unit(parquet.Decimal(0, 9, parquet.Int32Type), int32(-150)), unit(double, -150.)},
		{unit(parquet.Decimal(3, 4, parquet.FixedLenByteArrayType(2)), [2]byte{0xfc, 0x18}), unit(double, -1.)},
		{second(parquet.Millisecond, -1500), second(parquet.Microsecond, -1_500_000)},
		{second(parquet.Millisecond, 1500), second(parquet.Nanosecond, 1_500_000_000)},
	} {
		if c[0] != c[1] || c[0] == "" {
			t.Errorf("one value, stored in two ways, is the units %s and %s", c[0], c[1])
		}
	}
	if unit(parquet.Decimal(2, 9, parquet.Int32Type), int32(1500)) == unit(double, 1500.) {
		t.Error("15.00 is the unit 1500")
	}
	if missing := unit(double, nil); missing != "" {
		t.Errorf("a row without a value is of unit %s", missing)
	}
}
