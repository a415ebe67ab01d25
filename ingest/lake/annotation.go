package lake

import (
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// An annotation is the meaning that a schema gives to a stored type, from the
// logical type or, in older files, from the converted type.
type annotation struct {
	kind      annotationKind
	name      string  // for people
	why       string  // of annotatedOther: what to do
	signed    bool    // of integers
	bits      int     // of integers
	precision int     // of decimals: digits in all
	digits    int     // of decimals and timestamps: decimal places
	zone      meaning // of timestamps
}

type annotationKind int

const (
	annotatedNone annotationKind = iota
	annotatedInteger
	annotatedDecimal
	annotatedDate
	annotatedTimestamp
	annotatedOther // not read
)

// annotationOf reads the annotation of a leaf.
func annotationOf(e *parquetmeta.Element) annotation {
	switch l := e.Logical; l.Kind {
	case parquetmeta.LogicalNone:
		return convertedAnnotation(e)
	case parquetmeta.LogicalInteger:
		return integerAnnotation(int(l.Bits), l.Signed)
	case parquetmeta.LogicalDecimal:
		return decimalAnnotation(l.Precision, l.Scale)
	case parquetmeta.LogicalDate:
		return annotation{kind: annotatedDate}
	case parquetmeta.LogicalTimestamp:
		zone := aLocalTime
		if l.UTC {
			zone = aTimeInUTC
		}
		switch l.Unit {
		case parquetmeta.UnitMillis:
			return timestampAnnotation("ms", 3, zone)
		case parquetmeta.UnitMicros:
			return timestampAnnotation("us", 6, zone)
		case parquetmeta.UnitNanos:
			return timestampAnnotation("ns", 9, zone)
		}
		return annotation{kind: annotatedOther, name: "a timestamp of unknown unit", why: hintCast}
	case parquetmeta.LogicalString, parquetmeta.LogicalEnum, parquetmeta.LogicalJSON, parquetmeta.LogicalBSON, parquetmeta.LogicalUUID:
		return annotation{kind: annotatedOther, name: "text", why: hintText}
	case parquetmeta.LogicalTime:
		return annotation{kind: annotatedOther, name: "a time of day", why: "store it as seconds in a number"}
	case parquetmeta.LogicalNull:
		return annotation{kind: annotatedOther, name: "a column of nulls (the writer found no value and no type)", why: "write it as a column of numbers"}
	case parquetmeta.LogicalFloat16:
		return annotation{kind: annotatedOther, name: "float16", why: "store it as float or double"}
	default:
		return annotation{kind: annotatedOther, name: fmt.Sprintf("of logical type %d", l.Kind), why: hintCast}
	}
}

// convertedAnnotation reads the annotation of older files.
func convertedAnnotation(e *parquetmeta.Element) annotation {
	switch t := e.Converted; t {
	case -1:
		return annotation{}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return integerAnnotation(8<<(t-deprecated.Uint8), false)
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return integerAnnotation(8<<(t-deprecated.Int8), true)
	case deprecated.Decimal:
		return decimalAnnotation(e.Precision, e.Scale)
	case deprecated.Date:
		return annotation{kind: annotatedDate}
	case deprecated.TimestampMillis:
		return timestampAnnotation("ms", 3, aTime)
	case deprecated.TimestampMicros:
		return timestampAnnotation("us", 6, aTime)
	case deprecated.UTF8, deprecated.Enum, deprecated.Json, deprecated.Bson:
		return annotation{kind: annotatedOther, name: "text", why: hintText}
	case deprecated.TimeMillis, deprecated.TimeMicros:
		return annotation{kind: annotatedOther, name: "a time of day", why: "store it as seconds in a number"}
	default:
		return annotation{kind: annotatedOther, name: fmt.Sprintf("of converted type %d", t), why: hintCast}
	}
}

// contradiction says what in the description of a leaf cannot be, "" if all is well.
// The schema says much of it twice, for old readers and new ones.
func contradiction(e *parquetmeta.Element) string {
	if e.Odd != 0 {
		return fmt.Sprintf("by field %d, which is unknown", e.Odd)
	}
	if e.Repetition < 0 {
		return "it is not said whether it has nulls"
	}
	if e.Scale != 0 && e.Converted != deprecated.Decimal {
		return "a scale of what is no decimal"
	}
	if e.Logical.Kind == parquetmeta.LogicalNone || e.Converted < 0 {
		return ""
	}
	if e.Converted != converted(e.Logical) {
		return fmt.Sprintf("logical type %d, converted type %d", e.Logical.Kind, e.Converted)
	}
	if l := e.Logical; l.Kind == parquetmeta.LogicalDecimal && (l.Scale != e.Scale || l.Precision != e.Precision) {
		return fmt.Sprintf("decimal(%d,%d) and decimal(%d,%d)", l.Precision, l.Scale, e.Precision, e.Scale)
	}
	return ""
}

// converted is the converted type that goes with a logical type, −1 if there is none.
func converted(l parquetmeta.Logical) deprecated.ConvertedType {
	switch l.Kind {
	case parquetmeta.LogicalString:
		return deprecated.UTF8
	case parquetmeta.LogicalEnum:
		return deprecated.Enum
	case parquetmeta.LogicalDecimal:
		return deprecated.Decimal
	case parquetmeta.LogicalDate:
		return deprecated.Date
	case parquetmeta.LogicalTime, parquetmeta.LogicalTimestamp:
		return convertedTime(l)
	case parquetmeta.LogicalInteger:
		return convertedInteger(l)
	case parquetmeta.LogicalJSON:
		return deprecated.Json
	case parquetmeta.LogicalBSON:
		return deprecated.Bson
	default:
		return -1
	}
}

func convertedTime(l parquetmeta.Logical) deprecated.ConvertedType {
	first := deprecated.TimeMillis // and of microseconds, then the same of timestamps
	if l.Kind == parquetmeta.LogicalTimestamp {
		first = deprecated.TimestampMillis
	}
	if l.Unit != parquetmeta.UnitMillis && l.Unit != parquetmeta.UnitMicros {
		return -1
	}
	return first + deprecated.ConvertedType(l.Unit-parquetmeta.UnitMillis)
}

func convertedInteger(l parquetmeta.Logical) deprecated.ConvertedType {
	first := deprecated.Uint8 // of 8, 16, 32 and 64 bits, then the same of signed ones
	if l.Signed {
		first = deprecated.Int8
	}
	switch l.Bits {
	case 8, 16, 32, 64:
		return first + deprecated.ConvertedType(bits.TrailingZeros8(uint8(l.Bits))-3)
	default:
		return -1
	}
}

func integerAnnotation(width int, signed bool) annotation {
	name := fmt.Sprintf("int%d", width)
	if !signed {
		name = "u" + name
	}
	if width != 8 && width != 16 && width != 32 && width != 64 {
		return annotation{kind: annotatedOther, name: name, why: hintCast}
	}
	return annotation{kind: annotatedInteger, name: name, signed: signed, bits: width}
}

func decimalAnnotation(precision, scale int32) annotation {
	return annotation{kind: annotatedDecimal, name: fmt.Sprintf("decimal(%d,%d)", precision, scale), digits: int(scale), precision: int(precision)}
}

func timestampAnnotation(unit string, digits int, zone meaning) annotation {
	return annotation{kind: annotatedTimestamp, name: "timestamp(" + unit + ")", digits: digits, zone: zone}
}
