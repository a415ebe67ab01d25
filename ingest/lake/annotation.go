package lake

import (
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// An annotation is the meaning that a schema gives to a stored type, from the
// logical type or, in older files, from the converted type.
type annotation struct {
	kind   annotationKind
	name   string  // for people
	why    string  // of annotatedOther: what to do
	signed bool    // of integers
	digits int     // of decimals and timestamps: decimal places
	zone   meaning // of timestamps
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
func annotationOf(e *format.SchemaElement) annotation {
	switch t := e.LogicalType.Value.(type) {
	case nil:
		return convertedAnnotation(e)
	case *format.IntType:
		return integerAnnotation(int(t.BitWidth), t.IsSigned)
	case *format.DecimalType:
		return decimalAnnotation(t.Precision, t.Scale)
	case *format.DateType:
		return annotation{kind: annotatedDate}
	case *format.TimestampType:
		zone := aLocalTime
		if t.IsAdjustedToUTC {
			zone = aTimeInUTC
		}
		switch t.Unit.Value.(type) {
		case *format.MilliSeconds:
			return timestampAnnotation("ms", 3, zone)
		case *format.MicroSeconds:
			return timestampAnnotation("us", 6, zone)
		case *format.NanoSeconds:
			return timestampAnnotation("ns", 9, zone)
		}
		return annotation{kind: annotatedOther, name: "a timestamp of unknown unit", why: hintCast}
	case *format.StringType, *format.EnumType, *format.JsonType, *format.BsonType, *format.UUIDType:
		return annotation{kind: annotatedOther, name: fmt.Sprintf("text (%v)", t), why: hintText}
	case *format.TimeType:
		return annotation{kind: annotatedOther, name: "a time of day", why: "store it as seconds in a number, or leave it out"}
	case *format.NullType:
		return annotation{kind: annotatedOther, name: "a column of nulls (the writer found no value and no type)", why: "leave it out"}
	case *format.Float16Type:
		return annotation{kind: annotatedOther, name: "float16", why: "store it as float or double, or leave it out"}
	default:
		return annotation{kind: annotatedOther, name: fmt.Sprintf("of type %v", t), why: hintCast}
	}
}

// convertedAnnotation reads the annotation of older files.
func convertedAnnotation(e *format.SchemaElement) annotation {
	if !e.ConvertedType.Valid {
		return annotation{}
	}
	switch t := e.ConvertedType.V; t {
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return integerAnnotation(8<<(t-deprecated.Uint8), false)
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return integerAnnotation(8<<(t-deprecated.Int8), true)
	case deprecated.Decimal:
		return decimalAnnotation(e.Precision.V, e.Scale.V)
	case deprecated.Date:
		return annotation{kind: annotatedDate}
	case deprecated.TimestampMillis:
		return timestampAnnotation("ms", 3, aTime)
	case deprecated.TimestampMicros:
		return timestampAnnotation("us", 6, aTime)
	case deprecated.UTF8, deprecated.Enum, deprecated.Json, deprecated.Bson:
		return annotation{kind: annotatedOther, name: "text", why: hintText}
	case deprecated.TimeMillis, deprecated.TimeMicros:
		return annotation{kind: annotatedOther, name: "a time of day", why: "store it as seconds in a number, or leave it out"}
	default:
		return annotation{kind: annotatedOther, name: fmt.Sprintf("of converted type %d", t), why: hintCast}
	}
}

func integerAnnotation(bits int, signed bool) annotation {
	name := fmt.Sprintf("int%d", bits)
	if !signed {
		name = "u" + name
	}
	return annotation{kind: annotatedInteger, name: name, signed: signed}
}

func decimalAnnotation(precision, scale int32) annotation {
	return annotation{kind: annotatedDecimal, name: fmt.Sprintf("decimal(%d,%d)", precision, scale), digits: int(scale)}
}

func timestampAnnotation(unit string, digits int, zone meaning) annotation {
	return annotation{kind: annotatedTimestamp, name: "timestamp(" + unit + ")", digits: digits, zone: zone}
}
