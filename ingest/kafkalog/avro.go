package kafkalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/avro"

	"github.com/pacsgp/pacsgp/ingest"
)

// FormatAvro is the format of Avro records: each begins with the id of a schema in a registry, or
// all have one declared schema.
const FormatAvro = "avro"

// An avroReader reads Avro records. The library decodes each into one struct, whose fields are the
// columns, and skips all other fields.
type avroReader struct {
	declared *avro.Schema                          // of all records; nil if there is a registry
	registry func(id uint32) (*avro.Schema, error) // returns the schema with an id; nil without a registry

	names []string
	row   any    // pointer to the struct
	cells []*any // its fields, by column
}

func newAvroReader(names []string) *avroReader {
	r := &avroReader{names: names, cells: make([]*any, len(names))}
	for j := range r.cells {
		r.cells[j] = new(any) // remains for a column whose name no schema can have
	}
	paths := make([][]int, len(names))
	row := reflect.New(rowType(newJSONReader(names).root, nil, paths))
	for j, path := range paths {
		if path != nil {
			r.cells[j], _ = reflect.TypeAssert[*any](row.Elem().FieldByIndex(path).Addr())
		}
	}
	r.row = row.Interface()
	return r
}

var avroName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// rowType returns the type for a node of the tree of columns: a struct of its members with valid
// Avro names, or any for a leaf. It stores the leaf's path of field indexes in paths.
func rowType(node *jsonNode, at []int, paths [][]int) reflect.Type {
	if node.members == nil {
		if node.column >= 0 {
			paths[node.column] = at
		}
		return reflect.TypeFor[any]()
	}
	var fields []reflect.StructField
	for _, name := range slices.Sorted(maps.Keys(node.members)) {
		if avroName.MatchString(name) {
			typ := rowType(node.members[name], append(slices.Clip(at), len(fields)), paths)
			tag := reflect.StructTag(fmt.Sprintf("avro:%q", name))
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", len(fields)), Type: typ, Tag: tag})
		}
	}
	return reflect.StructOf(fields)
}

func (r *avroReader) read(value []byte, columns [][]float64) (err error) {
	schema := r.declared
	if r.registry != nil {
		if len(value) < 5 || value[0] != 0 {
			return errors.New("it does not begin with the id of a schema in a registry (a zero and four bytes)")
		}
		if schema, err = r.registry(binary.BigEndian.Uint32(value[1:])); err != nil {
			return err
		}
		value = value[5:]
	}
	for _, cell := range r.cells {
		*cell = nil // the schema of the previous row may have had other columns
	}
	rest, err := schema.Decode(value, r.row, avro.SkipUnknown())
	switch {
	case err != nil:
		return fmt.Errorf("it is no Avro of its schema: %w", err)
	case len(rest) > 0:
		return fmt.Errorf("it is no Avro of its schema: %d bytes behind the record", len(rest))
	}
	for j := range columns {
		v, err := avroCell(*r.cells[j])
		if err != nil {
			return fmt.Errorf("column %q is %w", r.names[j], err)
		}
		columns[j] = append(columns[j], v)
	}
	return nil
}

func avroCell(v any) (float64, error) {
	switch v := v.(type) {
	case nil:
		return ingest.Null.Cell(), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case int32:
		return float64(v), nil
	case int64:
		return ingest.Decimal(v, 0), nil
	case float32:
		return float64(v), nil
	case float64:
		return v, nil
	case string:
		return timeCell(v)
	case []byte:
		return 0, errors.New("bytes; numbers, booleans and times are read")
	default:
		return 0, errors.New("a record or a list; name a member of a record, as in a.b")
	}
}

// avroNumbers converts logical types to numbers: points in time and times of day to seconds,
// rounded once. A logical type on a wrong underlying type is ignored.
var avroNumbers = func() (all []avro.SchemaOpt) {
	number := func(logical string, convert func(v any, s *avro.SchemaNode) any) {
		decode := func(v any, s *avro.SchemaNode) (any, error) { return convert(v, s), nil }
		all = append(all, avro.WithCustomType(avro.CustomType{LogicalType: logical, Decode: decode}))
	}
	integer := func(logical string, convert func(v int64) float64) {
		number(logical, func(v any, _ *avro.SchemaNode) any {
			switch v := v.(type) {
			case int32:
				return convert(int64(v))
			case int64:
				return convert(v)
			}
			return v
		})
	}
	for unit, digits := range map[string]int{"millis": 3, "micros": 6, "nanos": 9} {
		for _, kind := range []string{"timestamp-", "local-timestamp-", "time-"} {
			integer(kind+unit, func(v int64) float64 { return ingest.Seconds(v, digits) })
		}
	}
	integer("date", func(v int64) float64 { return float64(v * 86400) })
	number("decimal", func(v any, s *avro.SchemaNode) any {
		if text, ok := v.([]byte); ok {
			return ingest.WideDecimal(ingest.Unscaled(text), s.Scale)
		}
		return v
	})
	return all
}()

// Bounds of a schema: of its text, in bytes, and of its types where each name is replaced by what it names. The library
// builds and reads the latter one by one, though nulls take no byte of a record.
const (
	maxAvroSchema = 1 << 20
	maxAvroTypes  = 1 << 16
)

// An avroType is what a type of a schema stands for.
type avroType struct {
	types int  // number of types in it, at most maxAvroTypes; a type within itself counts once
	empty bool // whether its values have no bytes
}

// parseAvro parses a schema. behind has the schemas that it may refer to, and named what their names stand for.
func parseAvro(schema string, behind *avro.SchemaCache, named map[string]avroType) (*avro.Schema, error) {
	if len(schema) > maxAvroSchema {
		return nil, fmt.Errorf("an Avro schema of %d bytes, want at most %d", len(schema), maxAvroSchema)
	}
	s, err := behind.Parse(schema, avroNumbers...)
	if err != nil {
		return nil, fmt.Errorf("the Avro schema: %w", err)
	}
	all, err := avroTypeOf(s.Root(), named)
	if err == nil && all.types >= maxAvroTypes {
		err = fmt.Errorf("the Avro schema has %d types or more, with each name replaced by what it names", maxAvroTypes)
	}
	return s, err
}

// avroTypeOf returns what n stands for. A list whose values have no bytes is an error: three bytes could claim 4,096 of
// them, and the library makes each. The named types so far are in named, by the ends of their names.
func avroTypeOf(n *avro.SchemaNode, named map[string]avroType) (of avroType, err error) {
	end := func(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
	of = named[end(n.Type)]
	of.types, of.empty = max(1, of.types), of.empty || n.Type == "null" || n.Type == "record"
	within := slices.Clone(n.Branches)
	for _, f := range n.Fields {
		within = append(within, f.Type)
	}
	for _, items := range []*avro.SchemaNode{n.Items, n.Values} {
		if items != nil {
			within = append(within, *items)
		}
	}
	for i := range within {
		inner, err := avroTypeOf(&within[i], named)
		if err != nil {
			return of, err
		}
		if inner.empty && n.Items != nil {
			return of, errors.New("the Avro schema has a list of values without bytes")
		}
		of.types, of.empty = min(of.types+inner.types, maxAvroTypes), of.empty && inner.empty
	}
	if n.Name != "" {
		was := named[end(n.Name)]
		named[end(n.Name)] = avroType{max(was.types, of.types), was.empty || of.empty}
	}
	return of, nil
}

// wantRecord returns an error unless the schema describes a record.
func wantRecord(s *avro.Schema) error {
	if root := s.Root(); root.Type != "record" {
		return fmt.Errorf("the Avro schema is of %q, want a record", root.Type)
	}
	return nil
}
