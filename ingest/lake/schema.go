package lake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/arrowipc"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A column is one leaf or one hive key of a file, with the properties needed to read it.
type column struct {
	ingest.Column
	leaf     int   // position among the leaves of the schema; −1 for a hive key
	depth    int   // names in its path
	deep     int32 // definition level of a value: what can be null on the way to it; 0 without nulls
	kind     kind
	width    int         // bytes of a value in PLAIN, 0 for booleans
	digits   int         // decimal places of decimals; 3, 6 or 9 for timestamps
	lowest   int64       // least value of the type, for integers of 8 and 16 bits and unscaled decimals
	highest  int64       // largest value of these types
	zone     job.Meaning // of timestamps
	physical format.Type
	filled   bool   // pages end in plainFill zeros
	ordered  bool   // the file declares the order of its statistics
	refused  string // the reason why chunks of a readable type are not read, or ""

	element parquetmeta.Element // of a leaf
}

// meaning returns the meaning of the values. Dates, INT96 and converted types do not state the zone. Columns such as
// $timestamp are positions of records, and a topic does not state what they mean.
func (c *column) meaning() job.Meaning {
	switch {
	case c.Text:
		return job.MeansText
	case strings.HasPrefix(c.Name, "$"):
		return job.MeansNumber
	case c.kind == kindDate || c.kind == kindDate64:
		return job.MeansDate
	case c.kind == kindInt96:
		return job.MeansTime
	case c.kind == kindTimestamp:
		return c.zone
	case c.Type == aBoolean:
		return job.MeansBoolean
	default:
		return job.MeansNumber
	}
}

// aBoolean is the type of booleans, for people.
const aBoolean = "boolean"

// hints of columns that are not read.
const (
	hintText   = "encode it as numbers"
	hintNested = "name a column in it, as in a.b, or flatten it into columns of its own"
	hintCast   = "store it as a number"
	hintAgain  = "the file is damaged or was written wrongly: write it again"
)

// mostDepth bounds the groups in groups whose leaves are read, mostName the bytes of the names of such
// groups: each leaf repeats it.
const (
	mostDepth = 8
	mostName  = 256
)

// An openGroup is a group of a schema of which some elements are still to come.
type openGroup struct {
	left   int32
	column *column // nil: the leaves are no columns
}

// schemaColumns describes the leaves of a schema, and an unusable column for each group or list.
// The name of a leaf in a group is its path, with dots.
func schemaColumns(meta *parquetmeta.File) ([]column, error) {
	elements := meta.Schema
	if len(elements) == 0 || elements[0].Physical >= 0 {
		return nil, fmt.Errorf("the schema has no root: %w", errMalformed)
	}
	var columns []column
	open, leaf := []openGroup{{elements[0].Children, &column{}}}, 0
	for i := 1; ; i++ {
		for len(open) > 0 && open[len(open)-1].left <= 0 {
			open = open[:len(open)-1]
		}
		switch {
		case len(open) == 0 && i == len(elements):
			return columns, nil
		case len(open) == 0:
			return nil, fmt.Errorf("the schema has %d elements too many: %w", len(elements)-i, errMalformed)
		case i >= len(elements):
			return nil, fmt.Errorf("the schema ends early: %w", errMalformed)
		}
		e, in := &elements[i], &open[len(open)-1]
		in.left--
		group := openGroup{left: e.Children}
		if in.column != nil {
			c := schemaColumn(meta, e, leaf, in.column)
			columns = append(columns, c)
			if c.Type == aGroup && c.depth < mostDepth && len(c.Name) <= mostName {
				group.column = &columns[len(columns)-1]
			}
		}
		switch {
		case e.Physical < 0:
			open = append(open, group)
		case e.Children > 0:
			return nil, fmt.Errorf("column %.200q has a type and %d columns: %w", e.Name, e.Children, errMalformed)
		default:
			leaf++
		}
	}
}

// schemaColumn describes an element of a group. leaf is the number of leaves before it.
func schemaColumn(meta *parquetmeta.File, e *parquetmeta.Element, leaf int, group *column) column {
	c := column{leaf: leaf}
	if e.Physical >= 0 {
		c = leafColumn(e, leaf)
		c.filled = bytes.HasPrefix(meta.Writer, []byte("fastparquet"))
		c.ordered = leaf < len(meta.Orders) && meta.Orders[leaf].Known
	} else {
		c.Type, c.Use, c.Why = groupType(e), ingest.Unusable, hintNested
	}
	if c.Name, c.depth, c.deep = e.Name, group.depth+1, group.deep; group.depth > 0 {
		c.Name = group.Name + "." + e.Name
	}
	if e.Repetition == int32(format.Optional) {
		c.deep++
	}
	switch {
	case c.depth > 1 && strings.Count(c.Name, ".") != c.depth-1: // its path cannot be distinguished from another one
		c.Type, c.Use, c.Why, c.Text = "in a group, with a dot in a name", ingest.Unusable, hintNested, false
	case c.depth > 1 && c.Use == ingest.Numeric: // no default feature
		c.Use = ingest.OnRequest
	}
	return c
}

// pandasKey is the key of the metadata of files under which pandas describes its frame.
const pandasKey = "pandas"

var (
	levelOfIndex = `(?:"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"|\{[^{}]*\})` // a name, or what is no column
	levels       = regexp.MustCompile(levelOfIndex)
	indexColumns = regexp.MustCompile(`"index_columns":[ \t\r\n]*\[((?:[ \t\r\n,]*` + levelOfIndex + `)*)`)
)

// markIndex marks the columns that are the index of a frame, by its description. That need not be JSON: pandas writes
// NaN for a NaN among the attributes of a frame.
func markIndex(columns []column, description []byte) {
	if found := indexColumns.FindSubmatch(description); found != nil {
		for _, text := range levels.FindAll(found[1], -1) {
			var name string
			err := json.Unmarshal(text, &name)
			for i := range columns {
				columns[i].Index = columns[i].Index || err == nil && columns[i].Name == name
			}
		}
	}
}

// arrowKey is the key under which Arrow's writers describe their columns.
const arrowKey = "ARROW:schema"

// refuseDurations makes durations unusable: Parquet does not say in which unit their integers are. Arrow's description
// of the columns is matched by position, as its readers do, without the children of columns that have none here.
func refuseDurations(columns []column, description []byte) error {
	all, err := arrowipc.Describe(description)
	i := 0
	for _, d := range all {
		if i > 0 && d.Depth > columns[i-1].depth && (i == len(columns) || columns[i].depth <= columns[i-1].depth) {
			continue
		}
		if i == len(columns) || columns[i].depth != d.Depth {
			i = -1
			break
		}
		if c := &columns[i]; d.Duration {
			c.Type, c.Use, c.Why = aDuration, ingest.Unusable, "Parquet has no unit for it: store it as a number, such as seconds"
		}
		i++
	}
	if i != len(columns) && slices.ContainsFunc(all, func(d arrowipc.Described) bool { return d.Duration }) {
		err = fmt.Errorf("it describes other columns, and durations among them: %w", errMalformed)
	}
	return err
}

// Types: of a group whose leaves are columns, and of an integer that Arrow describes as a duration.
const aGroup, aDuration = "a nested group", "a duration"

func groupType(e *parquetmeta.Element) string {
	switch {
	case e.Logical.Kind == parquetmeta.LogicalList, e.Converted == deprecated.List:
		return "a list"
	case e.Logical.Kind == parquetmeta.LogicalMap, e.Converted == deprecated.Map:
		return "a map"
	case e.Logical.Kind != parquetmeta.LogicalNone, e.Converted >= 0, e.Repetition == int32(format.Repeated), contradiction(e) != "":
		return "a group of another kind"
	default:
		return aGroup
	}
}

// leafColumn decides how the values of a leaf become float64.
func leafColumn(e *parquetmeta.Element, leaf int) column {
	c := column{leaf: leaf, physical: e.Physical, element: *e}
	refuse := func(typ, why string) column {
		c.Type, c.Use, c.Why = typ, ingest.Unusable, why
		return c
	}
	if e.Repetition == int32(format.Repeated) {
		return refuse("a repeated column", hintNested)
	}
	if why := contradiction(e); why != "" {
		return refuse("described in two ways that contradict each other ("+why+")", hintAgain)
	}
	a := annotationOf(e)
	switch {
	case a.why != "":
		c.Text = a.Kind == parquetmeta.LogicalString && c.physical == format.ByteArray
		return refuse(a.name, a.why)
	case a.kind == kindNone && a.Kind == parquetmeta.LogicalNone:
		return refuse("binary ("+c.physical.String()+")", hintText)
	case a.kind == kindNone:
		return refuse(a.name+" stored as "+c.physical.String(), hintCast)
	}
	c.Type, c.kind, c.width, c.digits, c.zone = a.name, a.kind, plainWidth(&c), a.digits, a.zone
	switch c.kind {
	case kindInt96, kindDate, kindTimestamp:
		c.Use = ingest.OnRequest
	case kindNarrow:
		if c.highest = 1<<a.Bits - 1; a.Signed {
			c.lowest, c.highest = -1<<(a.Bits-1), 1<<(a.Bits-1)-1
		}
	case kindDecimal, kindDecimalBytes:
		c.lowest, c.highest = math.MinInt64, math.MaxInt64
		if most := math.Pow10(max(int(a.Precision), 0)); most < math.MaxInt64 {
			c.lowest, c.highest = 1-int64(most), int64(most)-1
		}
		most := int(float64(8*c.width-1) * math.Log10(2)) // digits of a signed integer of that width; no power of two is one of ten
		if a.Precision < 1 || c.digits < 0 || c.digits > int(a.Precision) || int(a.Precision) > most {
			return refuse(a.name, "that many digits do not fit; "+hintAgain)
		}
	default:
	}
	return c
}

// hiveColumn describes a key in the path: a number if every value of it is.
func hiveColumn(name string, numeric bool) column {
	c := column{leaf: -1}
	c.Name, c.Type = name, "number in the path"
	if !numeric {
		c.Type, c.Use, c.Why, c.Text = "text in the path", ingest.Unusable, hintText, true
	}
	return c
}
