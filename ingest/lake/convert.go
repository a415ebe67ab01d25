package lake

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pacsgp/pacsgp/ingest"
)

// A kind is a conversion of stored values to float64. Each kind is monotone, so that the converted
// statistics of a chunk bound its converted values.
type kind uint8

const (
	kindDouble       kind = iota
	kindFloat             // exact
	kindFloat16           // exact
	kindInt32             // exact
	kindNarrow            // stored in 32 bits, exact; beyond the type's 8 or 16 the file is refused
	kindUint32            // stored in 32 bits, exact
	kindInt64             // a fault beyond 2⁵³
	kindUint64            // stored in 64 bits, a fault beyond 2⁵³
	kindBoolean           // 0 or 1
	kindDate              // days; seconds since 1970, exact
	kindDate64            // whole days in milliseconds; as kindDate, a fault between days
	kindTimestamp         // units of 10^−digits s; seconds since 1970, correctly rounded
	kindInt96             // nanoseconds of a day, beyond which the file is refused, and the Julian day; as kindTimestamp
	kindDecimal           // unscaled integer; correctly rounded, a fault beyond its digits and, without a fraction, beyond 2⁵³
	kindDecimalBytes      // same, big endian
	kindNone              // not read
)

const (
	// maxDecimalWidth bounds the bytes of a decimal; 38 digits need 16.
	maxDecimalWidth = 32

	secondsPerDay = 86400
	nanosPerDay   = secondsPerDay * 1_000_000_000
	julianDay1970 = 2440588
	maxInt96Days  = math.MaxInt64/nanosPerDay - 1
)

// plain converts len(dst) values in PLAIN encoding. src has their bytes.
func (c *column) plain(dst []float64, src []byte) {
	switch c.kind {
	case kindDouble:
		copy(arrow.Float64Traits.CastToBytes(dst), src)
	case kindFloat:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case kindFloat16:
		for i := range dst {
			dst[i] = ingest.Half(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case kindInt32:
		for i := range dst {
			dst[i] = float64(int32(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case kindInt64:
		for i := range dst {
			dst[i] = exactInteger(int64(binary.LittleEndian.Uint64(src[8*i:])))
		}
	case kindInt96:
		for i := range dst {
			dst[i] = int96Seconds(src[12*i:])
		}
	case kindDecimalBytes:
		for i := range dst {
			dst[i] = c.decimalBytes(src[c.width*i:][:c.width])
		}
	case kindBoolean: // a byte each
		for i := range dst {
			dst[i] = float64(src[i])
		}
	default:
		if c.width == 4 {
			for i := range dst {
				dst[i] = c.integerValue(int64(int32(binary.LittleEndian.Uint32(src[4*i:]))))
			}
			return
		}
		for i := range dst {
			dst[i] = c.integerValue(int64(binary.LittleEndian.Uint64(src[8*i:])))
		}
	}
}

// integerValue converts a value that is stored as an INT32 or INT64.
func (c *column) integerValue(v int64) float64 {
	switch c.kind {
	case kindUint32:
		return float64(uint32(v))
	case kindNarrow:
		if v < c.lowest || v > c.highest {
			return ingest.Mistyped.Cell()
		}
		return float64(v)
	case kindUint64:
		if uint64(v) > ingest.MaxInteger {
			return ingest.TooLong.Cell()
		}
		return float64(v)
	case kindDate:
		return float64(v * secondsPerDay)
	case kindDate64:
		if v%(1000*secondsPerDay) != 0 {
			return ingest.Mistyped.Cell()
		}
		return ingest.Seconds(v, 3)
	case kindTimestamp:
		return ingest.Seconds(v, c.digits)
	case kindDecimal:
		return c.decimalValue(v)
	default:
		return exactInteger(v)
	}
}

// exactInteger converts an integer; beyond ±[ingest.MaxInteger] it is a fault.
func exactInteger(v int64) float64 {
	if v > ingest.MaxInteger || v < -ingest.MaxInteger {
		return ingest.TooLong.Cell()
	}
	return float64(v)
}

// int96Seconds converts the deprecated timestamp of Impala and older Spark: nanoseconds of the
// day, then the Julian day number.
func int96Seconds(b []byte) float64 {
	nanos := int64(binary.LittleEndian.Uint64(b))
	days := int64(int32(binary.LittleEndian.Uint32(b[8:]))) - julianDay1970
	switch far := max(days, -days); {
	case nanos < 0 || nanos >= nanosPerDay:
		return ingest.Mistyped.Cell()
	case far > 1000*maxInt96Days:
		return ingest.TooFar.Cell()
	case far > maxInt96Days: // the years 1 and 9999 often stand for no time
		return ingest.Seconds(days*(nanosPerDay/1000)+nanos/1000, 6)
	}
	return ingest.Seconds(days*nanosPerDay+nanos, 9)
}

func (c *column) decimalValue(v int64) float64 {
	if v < c.lowest || v > c.highest {
		return ingest.Mistyped.Cell()
	}
	return ingest.Decimal(v, c.digits)
}

// decimalBytes converts a big-endian two's complement integer of 1 to 32 bytes.
func (c *column) decimalBytes(b []byte) float64 {
	v := int64(int8(b[0]))
	for _, x := range b[1:] {
		if v > math.MaxInt64>>8 || v < math.MinInt64>>8 {
			wide := ingest.Unscaled(b)
			if len(new(big.Int).Abs(wide).String()) > int(logicalOf(&c.element).Precision) {
				return ingest.Mistyped.Cell()
			}
			return ingest.WideDecimal(wide, c.digits)
		}
		v = v<<8 | int64(x)
	}
	return c.decimalValue(v)
}
