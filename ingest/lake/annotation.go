package lake

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// An annotation is the logical type of a leaf.
type annotation struct {
	parquetmeta.Logical

	name   string       // for people
	why    string       // the remedy for a type that is not read; "" for others
	kind   kind         // kindNone: values that are stored so are not read
	digits int          // decimal places
	zone   job.Meaning  // of timestamps
	node   parquet.Node // in the schema of another file; nil: it depends on how values are stored, or is unknown
}

// olderTypes are the logical types of converted types. Converted timestamps do not tell their zone.
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

// logicalOf returns the logical type of a leaf, in older files that of its converted type.
func logicalOf(e *parquetmeta.Element) parquetmeta.Logical {
	if e.Logical.Kind != parquetmeta.LogicalNone {
		return e.Logical
	}
	l := olderTypes[e.Converted]
	l.Precision, l.Scale = e.Precision, e.Scale
	return l
}

// timeUnits are the units of times. Each has three decimal places more than the one before.
var timeUnits = map[int16]parquet.TimeUnit{
	parquetmeta.UnitMillis: parquet.Millisecond, parquetmeta.UnitMicros: parquet.Microsecond, parquetmeta.UnitNanos: parquet.Nanosecond,
}

// textTypes are the types of texts and of what is no number.
var textTypes = map[int16]func() parquet.Node{
	parquetmeta.LogicalString: parquet.String, parquetmeta.LogicalEnum: parquet.Enum, parquetmeta.LogicalJSON: parquet.JSON,
	parquetmeta.LogicalBSON: parquet.BSON, parquetmeta.LogicalUUID: parquet.UUID,
}

// unannotated are the types of leaves that the schema says no more of.
var unannotated = map[format.Type]annotation{
	format.Boolean: {name: aBoolean, kind: kindBoolean},
	format.Int32:   {name: "int32", kind: kindInt32},
	format.Int64:   {name: "int64", kind: kindInt64},
	format.Int96:   {name: "timestamp(INT96)", kind: kindInt96},
	format.Float:   {name: "float", kind: kindFloat},
	format.Double:  {name: "double", kind: kindDouble},
}

func annotationOf(e *parquetmeta.Element) annotation {
	a := annotation{Logical: logicalOf(e), kind: kindNone}
	read := func(k kind, stored format.Type) {
		if e.Physical == stored {
			a.kind = k
		}
	}
	switch a.Kind {
	case parquetmeta.LogicalNone:
		if e.Converted >= 0 {
			a.name, a.why = fmt.Sprintf("of converted type %d", e.Converted), hintCast
		} else if plain, known := unannotated[e.Physical]; known {
			return plain
		}
	case parquetmeta.LogicalInteger:
		a.integer(read)
	case parquetmeta.LogicalDecimal:
		a.name, a.digits = fmt.Sprintf("decimal(%d,%d)", a.Precision, a.Scale), int(a.Scale)
		read(kindDecimal, format.Int32)
		read(kindDecimal, format.Int64)
		if e.Length >= 1 && e.Length <= maxDecimalWidth {
			read(kindDecimalBytes, format.FixedLenByteArray)
		}
	case parquetmeta.LogicalDate:
		a.name, a.node = "date", parquet.Date()
		read(kindDate, format.Int32)
	case parquetmeta.LogicalTimestamp:
		a.timestamp(e, read)
	case parquetmeta.LogicalString, parquetmeta.LogicalEnum, parquetmeta.LogicalJSON, parquetmeta.LogicalBSON, parquetmeta.LogicalUUID:
		a.name, a.why, a.node = "text", hintText, textTypes[a.Kind]()
	case parquetmeta.LogicalTime:
		a.name, a.why = "a time of day", "store it as seconds in a number"
		if unit, known := timeUnits[a.Unit]; known {
			a.node = parquet.TimeAdjusted(unit, a.UTC)
		}
	case parquetmeta.LogicalNull:
		a.name, a.why = "a column of nulls (the writer found no value and no type)", "write it as a column of numbers"
	case parquetmeta.LogicalFloat16:
		if a.name = "float16"; e.Length == 2 {
			read(kindFloat16, format.FixedLenByteArray)
		}
	default:
		a.name, a.why = fmt.Sprintf("of logical type %d", a.Kind), hintCast
	}
	return a
}

func (a *annotation) integer(read func(kind, format.Type)) {
	if a.name = fmt.Sprintf("int%d", a.Bits); !a.Signed {
		a.name = "u" + a.name
	}
	switch {
	case a.Bits == 8 || a.Bits == 16:
		read(kindNarrow, format.Int32)
	case a.Bits == 32 && a.Signed:
		read(kindInt32, format.Int32)
	case a.Bits == 32:
		read(kindUint32, format.Int32)
	case a.Bits == 64 && a.Signed:
		read(kindInt64, format.Int64)
	case a.Bits == 64:
		read(kindUint64, format.Int64)
	default:
		a.why = hintCast
	}
	if a.why == "" && a.Signed {
		a.node = parquet.Int(int(a.Bits))
	} else if a.why == "" {
		a.node = parquet.Uint(int(a.Bits))
	}
}

func (a *annotation) timestamp(e *parquetmeta.Element, read func(kind, format.Type)) {
	unit, known := timeUnits[a.Unit]
	if !known {
		a.name, a.why = "a timestamp of unknown unit", hintCast
		return
	}
	a.name, a.digits = fmt.Sprintf("timestamp(%cs)", "?mun"[a.Unit]), 3*int(a.Unit)
	switch {
	case e.Logical.Kind == parquetmeta.LogicalNone:
		a.zone = job.MeansTime
	case a.UTC:
		a.zone = job.MeansUTC
	default:
		a.zone = job.MeansLocalTime
	}
	a.node = parquet.TimestampAdjusted(unit, a.zone != job.MeansLocalTime)
	read(kindTimestamp, format.Int64)
}

// contradiction describes a contradiction in the description of a leaf, or is "". The schema says
// much of it twice, for old readers and new ones.
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
