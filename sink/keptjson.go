package sink

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A KeptJSON appends a value of a kept column as JSON, exactly: a number or decimal as a number, a
// text as a text, a time as a text of ISO 8601 with as many digits as its unit has, and with Z if it
// is of UTC. JSON stays as it is, other bytes become base 64, a UUID has its usual form. Values
// without a form (NaN, a text that is not UTF-8, a time outside its day) become null.
type KeptJSON func(to []byte, v parquet.Value) []byte

// NewKeptJSON returns the form for values of a type.
func NewKeptJSON(node parquet.Node) KeptJSON {
	of := plainJSON(node.Type().Kind())
	if logical := node.Type().LogicalType(); logical != nil {
		switch t := logical.Value.(type) {
		case *format.IntType:
			if !t.IsSigned {
				of = unsignedJSON
			}
		case *format.DecimalType:
			scale := int(t.Scale)
			of = func(to []byte, v parquet.Value) []byte { return appendDecimal(to, whole(v), scale) }
		case *format.DateType:
			of = func(to []byte, v parquet.Value) []byte {
				return append(appendDate(append(to, '"'), time.Unix(int64(v.Int32())*secondsPerDay, 0).UTC()), '"')
			}
		case *format.TimestampType:
			of = timestampJSON(digitsOf(t.Unit), zoneOf(t.IsAdjustedToUTC))
		case *format.TimeType:
			of = timeJSON(digitsOf(t.Unit), zoneOf(t.IsAdjustedToUTC))
		case *format.StringType, *format.EnumType:
			of = textJSON
		case *format.JsonType:
			of = func(to []byte, v parquet.Value) []byte {
				if text := v.ByteArray(); utf8.Valid(text) && json.Valid(text) {
					return append(to, text...)
				}
				return append(to, "null"...)
			}
		case *format.UUIDType:
			of = uuidJSON
		}
	}
	return func(to []byte, v parquet.Value) []byte {
		if v.IsNull() {
			return append(to, "null"...)
		}
		return of(to, v)
	}
}

// plainJSON returns the form for values of a physical type without a logical one.
func plainJSON(kind parquet.Kind) KeptJSON {
	switch kind {
	case parquet.Boolean:
		return func(to []byte, v parquet.Value) []byte { return strconv.AppendBool(to, v.Boolean()) }
	case parquet.Int32, parquet.Int64:
		return func(to []byte, v parquet.Value) []byte { return strconv.AppendInt(to, integer(v), 10) }
	case parquet.Int96: // the time of Impala and older Spark: nanoseconds of the day, then the Julian day
		return func(to []byte, v parquet.Value) []byte {
			const day1970 = 2440588
			i := v.Int96()
			nanos := int64(i[1])<<32 | int64(i[0])
			if nanos < 0 || nanos >= secondsPerDay*1e9 {
				return append(to, "null"...)
			}
			return appendTimestamp(to, (int64(int32(i[2]))-day1970)*secondsPerDay+nanos/1e9, nanos%1e9, 9, "") //nolint:gosec // its bits
		}
	case parquet.Float:
		return func(to []byte, v parquet.Value) []byte {
			if f := float64(v.Float()); !math.IsNaN(f) && !math.IsInf(f, 0) {
				return strconv.AppendFloat(to, f, 'g', -1, 32)
			}
			return append(to, "null"...)
		}
	case parquet.Double:
		return func(to []byte, v parquet.Value) []byte { return appendNumber(to, v.Double()) }
	default:
		return func(to []byte, v parquet.Value) []byte {
			return append(base64.StdEncoding.AppendEncode(append(to, '"'), v.ByteArray()), '"')
		}
	}
}

func integer(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

func unsignedJSON(to []byte, v parquet.Value) []byte {
	if v.Kind() == parquet.Int32 {
		return strconv.AppendUint(to, uint64(v.Uint32()), 10)
	}
	return strconv.AppendUint(to, v.Uint64(), 10)
}

func textJSON(to []byte, v parquet.Value) []byte {
	if text := v.ByteArray(); utf8.Valid(text) {
		return append(to, quoted(string(text))...)
	}
	return append(to, "null"...)
}

func uuidJSON(to []byte, v parquet.Value) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for i, b := range v.ByteArray() {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			to = append(to, '-')
		}
		to = append(to, hex[b>>4], hex[b&15])
	}
	return append(to, '"')
}

// whole returns the unscaled integer of a decimal.
func whole(v parquet.Value) *big.Int {
	if k := v.Kind(); k == parquet.Int32 || k == parquet.Int64 {
		return big.NewInt(integer(v))
	}
	b := v.ByteArray() // two's complement, big endian
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

func appendDecimal(to []byte, n *big.Int, scale int) []byte {
	if n.Sign() < 0 {
		to = append(to, '-')
	}
	digits := new(big.Int).Abs(n).String()
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	to = append(to, digits[:len(digits)-scale]...)
	if scale > 0 {
		to = append(append(to, '.'), digits[len(digits)-scale:]...)
	}
	return to
}

const secondsPerDay = 24 * 60 * 60

// digitsOf returns the number of decimals of a second in a unit.
func digitsOf(unit format.TimeUnit) int {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		return 3
	case *format.MicroSeconds:
		return 6
	default:
		return 9
	}
}

func zoneOf(utc bool) string {
	if utc {
		return "Z"
	}
	return ""
}

func timestampJSON(digits int, zone string) KeptJSON {
	units := int64(math.Pow10(digits)) // in a second
	return func(to []byte, v parquet.Value) []byte {
		seconds, rest := v.Int64()/units, v.Int64()%units
		if rest < 0 {
			seconds, rest = seconds-1, rest+units
		}
		return appendTimestamp(to, seconds, rest, digits, zone)
	}
}

func timeJSON(digits int, zone string) KeptJSON {
	units := int64(math.Pow10(digits)) // in a second
	return func(to []byte, v parquet.Value) []byte {
		n := integer(v)
		if n < 0 || n >= secondsPerDay*units {
			return append(to, "null"...)
		}
		to = appendClock(append(to, '"'), time.Unix(n/units, 0).UTC(), n%units, digits)
		return append(append(to, zone...), '"')
	}
}

// appendTimestamp appends a time, given as seconds since 1970 and the rest in units of 10^−digits s.
func appendTimestamp(to []byte, seconds, rest int64, digits int, zone string) []byte {
	at := time.Unix(seconds, 0).UTC()
	to = appendClock(append(appendDate(append(to, '"'), at), 'T'), at, rest, digits)
	return append(append(to, zone...), '"')
}

// appendDate appends a day. A year of more than four digits, or before 0, has a sign.
func appendDate(to []byte, at time.Time) []byte {
	year, month, day := at.Date()
	switch {
	case year < 0:
		to, year = append(to, '-'), -year
	case year > 9999:
		to = append(to, '+')
	}
	to = appendPadded(to, int64(year), 4)
	to = appendPadded(append(to, '-'), int64(month), 2)
	return appendPadded(append(to, '-'), int64(day), 2)
}

func appendClock(to []byte, at time.Time, rest int64, digits int) []byte {
	to = appendPadded(to, int64(at.Hour()), 2)
	to = appendPadded(append(to, ':'), int64(at.Minute()), 2)
	to = appendPadded(append(to, ':'), int64(at.Second()), 2)
	return appendPadded(append(to, '.'), rest, digits)
}

// appendPadded appends n ≥ 0 with at least so many digits.
func appendPadded(to []byte, n int64, digits int) []byte {
	text := strconv.FormatInt(n, 10)
	for range digits - len(text) {
		to = append(to, '0')
	}
	return append(to, text...)
}
