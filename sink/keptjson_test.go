package sink

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
)

// What is kept of a file says the same in JSON, to the last digit, and is JSON whatever it is.
func TestKeptJSON(t *testing.T) {
	bytes, fixed := parquet.ByteArrayValue, parquet.FixedLenByteArrayValue
	i64 := parquet.Int64Value
	leaf := parquet.Leaf
	for _, c := range []struct {
		node parquet.Node
		v    parquet.Value
		want string
	}{
		{parquet.String(), parquet.Value{}, "null"},
		{leaf(parquet.BooleanType), parquet.BooleanValue(true), "true"},
		{parquet.Int(64), i64(-9007199254740993), "-9007199254740993"},
		{parquet.Int(8), parquet.Int32Value(-7), "-7"},
		{parquet.Uint(64), i64(-1), "18446744073709551615"},
		{parquet.Uint(32), parquet.Int32Value(-1), "4294967295"},
		{leaf(parquet.Int64Type), i64(math.MinInt64), "-9223372036854775808"},
		{leaf(parquet.FloatType), parquet.FloatValue(0.1), "0.1"},
		{leaf(parquet.DoubleType), parquet.DoubleValue(1e300), "1e+300"},
		{leaf(parquet.DoubleType), parquet.DoubleValue(math.NaN()), "null"},
		{leaf(parquet.FloatType), parquet.FloatValue(float32(math.Inf(-1))), "null"},
		{parquet.String(), bytes([]byte("a\"\\\n\x00é</script>")), `"a\"\\\n\u0000é\u003c/script\u003e"`},
		{parquet.String(), bytes([]byte("\xff")), "null"},
		{parquet.Enum(), bytes([]byte("RED")), `"RED"`},
		{parquet.JSON(), bytes([]byte(`{"a": 9007199254740993}`)), `{"a": 9007199254740993}`},
		{parquet.JSON(), bytes([]byte(`1,"mean":2`)), "null"},
		{parquet.JSON(), bytes([]byte("\"\xff\"")), "null"},
		{parquet.BSON(), bytes([]byte{0, 0xff}), `"AP8="`},
		{leaf(parquet.ByteArrayType), bytes([]byte("ab")), `"YWI="`},
		{leaf(parquet.FixedLenByteArrayType(2)), fixed([]byte{1, 2}), `"AQI="`},
		{parquet.UUID(), fixed([]byte{0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0}), `"123e4567-e89b-12d3-a456-426614174000"`},
		{parquet.Decimal(2, 9, parquet.Int32Type), parquet.Int32Value(-5), "-0.05"},
		{parquet.Decimal(0, 18, parquet.Int64Type), i64(123), "123"},
		{parquet.Decimal(3, 38, parquet.FixedLenByteArrayType(16)), fixed([]byte{0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}), "-170141183460469231731687303715884105.727"},
		{parquet.Decimal(1, 5, parquet.ByteArrayType), bytes(nil), "0.0"},
		{parquet.Date(), parquet.Int32Value(-1), `"1969-12-31"`},
		{parquet.Date(), parquet.Int32Value(math.MaxInt32), `"+5881580-07-11"`},
		{parquet.Date(), parquet.Int32Value(math.MinInt32), `"-5877641-06-23"`},
		{parquet.TimestampAdjusted(parquet.Millisecond, true), i64(-1), `"1969-12-31T23:59:59.999Z"`},
		{parquet.TimestampAdjusted(parquet.Microsecond, false), i64(1769860800000001), `"2026-01-31T12:00:00.000001"`},
		{parquet.TimestampAdjusted(parquet.Nanosecond, true), i64(math.MinInt64), `"1677-09-21T00:12:43.145224192Z"`},
		{parquet.TimestampAdjusted(parquet.Millisecond, true), i64(math.MaxInt64), `"+292278994-08-17T07:12:55.807Z"`},
		{parquet.TimeAdjusted(parquet.Millisecond, true), parquet.Int32Value(86399999), `"23:59:59.999Z"`},
		{parquet.TimeAdjusted(parquet.Nanosecond, false), i64(1), `"00:00:00.000000001"`},
		{parquet.TimeAdjusted(parquet.Microsecond, false), i64(86_400_000_000), "null"},
		{leaf(parquet.Int96Type), parquet.Int96Value(deprecated.Int96{1, 0, 2440589}), `"1970-01-02T00:00:00.000000001"`},
		{leaf(parquet.Int96Type), parquet.Int96Value(deprecated.Int96{0x914effff, 0x4e94, 2440588}), `"1970-01-01T23:59:59.999999999"`},
		{leaf(parquet.Int96Type), parquet.Int96Value(deprecated.Int96{0x914f0000, 0x4e94, 2440588}), "null"}, // a whole day
		{leaf(parquet.Int96Type), parquet.Int96Value(deprecated.Int96{0, 1 << 31, 0}), "null"},
	} {
		got := string(NewKeptJSON(c.node)([]byte("x"), c.v))
		if got != "x"+c.want || !json.Valid([]byte(got[1:])) {
			t.Errorf("%v of type %v: %s, want %s", c.v, c.node, got[1:], c.want)
		}
	}
}
