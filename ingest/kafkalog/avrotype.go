package kafkalog

import (
	"errors"
	"fmt"

	"github.com/twmb/avro"
)

// FormatAvro is the format of records that are Avro: with the id of a schema in a registry,
// by a schema that is declared, or object container files, which have their own.
const FormatAvro = "avro"

// An avroType is how the bytes of a type are read: for a column, for the columns below it,
// or to pass over them.
type avroType struct {
	kind     avroKind
	column   int // −1: none
	digits   int // decimal places, of times and decimals
	size     int // of a fixed
	parts    []*avroType
	decimal  bool
	days     bool
	inSecond bool // a point in time, in 10^−digits seconds
}

type avroKind int

const (
	avroNull avroKind = iota
	avroBoolean
	avroInt
	avroLong
	avroFloat
	avroDouble
	avroBytes
	avroString
	avroFixed
	avroEnum
	avroRecord // of parts
	avroArray  // of parts[0]
	avroMap    // of a text and parts[0]
	avroUnion  // of parts
)

var avroKinds = map[string]avroKind{
	"null": avroNull, "boolean": avroBoolean, "int": avroInt, "long": avroLong, "float": avroFloat, "double": avroDouble,
	"bytes": avroBytes, "string": avroString, "fixed": avroFixed, "enum": avroEnum, "record": avroRecord, "error": avroRecord,
	"array": avroArray, "map": avroMap, "union": avroUnion,
}

// secondsOf are the decimal places of the logical types that are points in time, or times
// of a day.
var secondsOf = map[string]int{
	"timestamp-millis": 3, "timestamp-micros": 6, "timestamp-nanos": 9,
	"local-timestamp-millis": 3, "local-timestamp-micros": 6, "local-timestamp-nanos": 9,
	"time-millis": 3, "time-micros": 6,
}

// avroNames are the named types of schemas.
type avroNames map[string]*avro.SchemaNode

// fullName is the name of a named type, or "".
func fullName(n *avro.SchemaNode) string {
	if n.Name == "" || n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "." + n.Name
}

// learn takes in the named types of a schema.
func (names avroNames) learn(n *avro.SchemaNode) {
	switch n.Type {
	case "record", "error", "enum", "fixed":
		names[fullName(n)] = n
	}
	for i := range n.Fields {
		names.learn(&n.Fields[i].Type)
	}
	for i := range n.Branches {
		names.learn(&n.Branches[i])
	}
	for _, inner := range []*avro.SchemaNode{n.Items, n.Values} {
		if inner != nil {
			names.learn(inner)
		}
	}
}

// An avroCompiler makes types for columns. A named type is made once for each place in the
// tree of columns, so that one that refers to itself has an end.
type avroCompiler struct {
	names avroNames
	made  map[avroPlace]*avroType
}

type avroPlace struct {
	name string
	at   *jsonNode
}

// compileAvro makes the type of a record's value.
func compileAvro(root *avro.SchemaNode, names avroNames, columns *jsonNode) (*avroType, error) {
	names.learn(root)
	c := avroCompiler{names, map[avroPlace]*avroType{}}
	t, err := c.compile(root, columns, "", 0)
	if err != nil {
		return nil, fmt.Errorf("the Avro schema: %w", err)
	}
	if t.kind != avroRecord {
		return nil, fmt.Errorf("the Avro schema is of %q, want a record", root.Type)
	}
	return t, nil
}

// maxSchemaDepth bounds how deep a schema's text may be nested.
const maxSchemaDepth = 256

// resolve is the node that a name stands for, in a name space, or the node itself.
func (c *avroCompiler) resolve(n *avro.SchemaNode, space string) (*avro.SchemaNode, avroKind, error) {
	if kind, known := avroKinds[n.Type]; known {
		return n, kind, nil
	}
	found := c.names[n.Type]
	if found == nil {
		found = c.names[space+"."+n.Type]
	}
	if found == nil {
		return nil, 0, fmt.Errorf("there is no type %q", n.Type)
	}
	return found, avroKinds[found.Type], nil
}

// compile makes the type of a node, in a name space, for what is below a place in the
// columns; nil: nothing.
func (c *avroCompiler) compile(n *avro.SchemaNode, at *jsonNode, space string, depth int) (*avroType, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxSchemaDepth)
	}
	n, kind, err := c.resolve(n, space)
	if err != nil {
		return nil, err
	}
	named := fullName(n)
	if named != "" {
		space = n.Namespace
		if t := c.made[avroPlace{named, at}]; t != nil {
			return t, nil
		}
	}
	t := &avroType{kind: kind, column: -1, size: n.Size}
	if named != "" {
		c.made[avroPlace{named, at}] = t
	}
	if at != nil {
		t.column = at.column
	}
	t.logical(n)
	if t.column >= 0 && (kind == avroRecord || kind == avroArray || kind == avroMap || kind == avroEnum) {
		return nil, fmt.Errorf("a column is %s: numbers, booleans and times are read; of a record name a member, as in a.b", n.Type)
	}
	below := func(inner *avro.SchemaNode, at *jsonNode) error {
		part, err := c.compile(inner, at, space, depth+1)
		t.parts = append(t.parts, part)
		return err
	}
	switch kind {
	case avroRecord:
		for i := range n.Fields {
			var member *jsonNode
			if at != nil {
				member = at.members[n.Fields[i].Name]
			}
			if err := below(&n.Fields[i].Type, member); err != nil {
				return nil, err
			}
		}
	case avroUnion:
		for i := range n.Branches {
			if err := below(&n.Branches[i], at); err != nil {
				return nil, err
			}
		}
		t.column = -1 // its branches have it
	case avroArray, avroMap:
		inner := map[avroKind]*avro.SchemaNode{avroArray: n.Items, avroMap: n.Values}[kind]
		if inner == nil {
			return nil, errors.New("a list without a type")
		}
		if err := below(inner, nil); err != nil {
			return nil, err
		}
	default:
	}
	return t, nil
}

// logical takes in the logical type, where it is one of numbers.
func (t *avroType) logical(n *avro.SchemaNode) {
	switch digits, seconds := secondsOf[n.LogicalType]; {
	case seconds && (t.kind == avroLong || t.kind == avroInt):
		t.inSecond, t.digits = true, digits
	case n.LogicalType == "date" && t.kind == avroInt:
		t.days = true
	case n.LogicalType == "decimal" && (t.kind == avroBytes || t.kind == avroFixed):
		t.decimal, t.digits = true, n.Scale
	}
}
