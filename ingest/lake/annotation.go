package lake

import (
	"fmt"

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

// olderTypes are the logical types that older files mean by a converted type. Those of
// time leave the zone open.
var olderTypes = map[deprecated.ConvertedType]parquetmeta.Logical{
	deprecated.UTF8:            {Kind: parquetmeta.LogicalString},
	deprecated.Enum:            {Kind: parquetmeta.LogicalEnum},
	deprecated.Json:            {Kind: parquetmeta.LogicalJSON},
	deprecated.Bson:            {Kind: parquetmeta.LogicalBSON},
	deprecated.Decimal:         {Kind: parquetmeta.LogicalDecimal},
	deprecated.Date:            {Kind: parquetmeta.LogicalDate},
	deprecated.TimeMillis:      {Kind: parquetmeta.LogicalTime, Unit: parquetmeta.UnitMillis, UTC: true},
	deprecated.TimeMicros:      {Kind: parquetmeta.LogicalTime, Unit: parquetmeta.UnitMicros, UTC: true},
	deprecated.TimestampMillis: {Kind: parquetmeta.LogicalTimestamp, Unit: parquetmeta.UnitMillis},
	deprecated.TimestampMicros: {Kind: parquetmeta.LogicalTimestamp, Unit: parquetmeta.UnitMicros},
	deprecated.Uint8:           {Kind: parquetmeta.LogicalInteger, Bits: 8},
	deprecated.Uint16:          {Kind: parquetmeta.LogicalInteger, Bits: 16},
	deprecated.Uint32:          {Kind: parquetmeta.LogicalInteger, Bits: 32},
	deprecated.Uint64:          {Kind: parquetmeta.LogicalInteger, Bits: 64},
	deprecated.Int8:            {Kind: parquetmeta.LogicalInteger, Bits: 8, Signed: true},
	deprecated.Int16:           {Kind: parquetmeta.LogicalInteger, Bits: 16, Signed: true},
	deprecated.Int32:           {Kind: parquetmeta.LogicalInteger, Bits: 32, Signed: true},
	deprecated.Int64:           {Kind: parquetmeta.LogicalInteger, Bits: 64, Signed: true},
}

// logicalOf is the logical type of a leaf, in older files that of its converted type.
func logicalOf(e *parquetmeta.Element) parquetmeta.Logical {
	if e.Logical.Kind != parquetmeta.LogicalNone {
		return e.Logical
	}
	l := olderTypes[e.Converted]
	l.Precision, l.Scale = e.Precision, e.Scale
	return l
}

// annotationOf reads the annotation of a leaf.
func annotationOf(e *parquetmeta.Element) annotation {
	switch l := logicalOf(e); l.Kind {
	case parquetmeta.LogicalNone:
		if e.Converted < 0 {
			return annotation{}
		}
		return annotation{kind: annotatedOther, name: fmt.Sprintf("of converted type %d", e.Converted), why: hintCast}
	case parquetmeta.LogicalInteger:
		return integerAnnotation(int(l.Bits), l.Signed)
	case parquetmeta.LogicalDecimal:
		return decimalAnnotation(l.Precision, l.Scale)
	case parquetmeta.LogicalDate:
		return annotation{kind: annotatedDate}
	case parquetmeta.LogicalTimestamp:
		zone := aLocalTime
		switch {
		case e.Logical.Kind == parquetmeta.LogicalNone:
			zone = aTime
		case l.UTC:
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
	if older, l := olderTypes[e.Converted], e.Logical; older.Kind != l.Kind || older.Unit != l.Unit || older.Bits != l.Bits || older.Signed != l.Signed {
		return fmt.Sprintf("logical type %d, converted type %d", e.Logical.Kind, e.Converted)
	}
	if l := e.Logical; l.Kind == parquetmeta.LogicalDecimal && (l.Scale != e.Scale || l.Precision != e.Precision) {
		return fmt.Sprintf("decimal(%d,%d) and decimal(%d,%d)", l.Precision, l.Scale, e.Precision, e.Scale)
	}
	return ""
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
