package lake

import (
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/deprecated"
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
func annotationOf(e *element) annotation {
	switch l := e.logical; l.kind {
	case logicalNone:
		return convertedAnnotation(e)
	case logicalInteger:
		return integerAnnotation(int(l.bits), l.signed)
	case logicalDecimal:
		return decimalAnnotation(l.precision, l.scale)
	case logicalDate:
		return annotation{kind: annotatedDate}
	case logicalTimestamp:
		zone := aLocalTime
		if l.utc {
			zone = aTimeInUTC
		}
		switch l.unit {
		case unitMillis:
			return timestampAnnotation("ms", 3, zone)
		case unitMicros:
			return timestampAnnotation("us", 6, zone)
		case unitNanos:
			return timestampAnnotation("ns", 9, zone)
		}
		return annotation{kind: annotatedOther, name: "a timestamp of unknown unit", why: hintCast}
	case logicalString, logicalEnum, logicalJSON, logicalBSON, logicalUUID:
		return annotation{kind: annotatedOther, name: "text", why: hintText}
	case logicalTime:
		return annotation{kind: annotatedOther, name: "a time of day", why: "store it as seconds in a number, or leave it out"}
	case logicalNull:
		return annotation{kind: annotatedOther, name: "a column of nulls (the writer found no value and no type)", why: "leave it out"}
	case logicalFloat16:
		return annotation{kind: annotatedOther, name: "float16", why: "store it as float or double, or leave it out"}
	default:
		return annotation{kind: annotatedOther, name: fmt.Sprintf("of logical type %d", l.kind), why: hintCast}
	}
}

// convertedAnnotation reads the annotation of older files.
func convertedAnnotation(e *element) annotation {
	switch t := e.converted; t {
	case -1:
		return annotation{}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return integerAnnotation(8<<(t-deprecated.Uint8), false)
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return integerAnnotation(8<<(t-deprecated.Int8), true)
	case deprecated.Decimal:
		return decimalAnnotation(e.precision, e.scale)
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

// contradiction says what in the description of a leaf cannot be, "" if all is well.
// The schema says much of it twice, for old readers and new ones.
func (e *element) contradiction() string {
	if e.odd != 0 {
		return fmt.Sprintf("by field %d, which is unknown", e.odd)
	}
	if e.repetition < 0 {
		return "it is not said whether it has nulls"
	}
	if e.scale != 0 && e.converted != deprecated.Decimal {
		return "a scale of what is no decimal"
	}
	if e.logical.kind == logicalNone || e.converted < 0 {
		return ""
	}
	if e.converted != e.logical.converted() {
		return fmt.Sprintf("logical type %d, converted type %d", e.logical.kind, e.converted)
	}
	if l := e.logical; l.kind == logicalDecimal && (l.scale != e.scale || l.precision != e.precision) {
		return fmt.Sprintf("decimal(%d,%d) and decimal(%d,%d)", l.precision, l.scale, e.precision, e.scale)
	}
	return ""
}

// converted is the converted type that goes with a logical type, −1 if there is none.
func (l logical) converted() deprecated.ConvertedType {
	switch l.kind {
	case logicalString:
		return deprecated.UTF8
	case logicalEnum:
		return deprecated.Enum
	case logicalDecimal:
		return deprecated.Decimal
	case logicalDate:
		return deprecated.Date
	case logicalTime, logicalTimestamp:
		return l.convertedTime()
	case logicalInteger:
		return l.convertedInteger()
	case logicalJSON:
		return deprecated.Json
	case logicalBSON:
		return deprecated.Bson
	default:
		return -1
	}
}

func (l logical) convertedTime() deprecated.ConvertedType {
	first := deprecated.TimeMillis // and of microseconds, then the same of timestamps
	if l.kind == logicalTimestamp {
		first = deprecated.TimestampMillis
	}
	if l.unit != unitMillis && l.unit != unitMicros {
		return -1
	}
	return first + deprecated.ConvertedType(l.unit-unitMillis)
}

func (l logical) convertedInteger() deprecated.ConvertedType {
	first := deprecated.Uint8 // of 8, 16, 32 and 64 bits, then the same of signed ones
	if l.signed {
		first = deprecated.Int8
	}
	switch l.bits {
	case 8, 16, 32, 64:
		return first + deprecated.ConvertedType(bits.TrailingZeros8(uint8(l.bits))-3)
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
