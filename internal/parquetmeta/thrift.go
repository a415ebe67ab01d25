package parquetmeta

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"reflect"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// ErrShort means that the bytes end before the value does. More bytes may help.
var ErrShort = errors.New("it ends early")

// ErrMalformed is wrapped by all other errors.
var ErrMalformed = errors.New("it is malformed")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// maxDepth bounds the nesting of structures and lists. A footer needs about ten.
const maxDepth = 24

// A set is a set of field numbers from 0 to 63.
type set uint64

func (s set) has(id int) bool { return s>>id&1 == 1 }

// A checker is a structure with a check of its own, called after its fields were read. has is the set of
// its fields, unknown is the number of the first field without a target; 0 if all have one.
type checker interface {
	check(has set, unknown int16) error
}

// A shape describes how a value of Thrift is read into one of Go. The tag field:"5.1! 8.2" of a Go field
// names its sources: field 1 of the structure in field 5, which that structure must have, and field 2 of
// the one in field 8. The source * is the number of a union's only field.
type shape struct {
	name   string // of the structure
	kind   thrift.Type
	at     int      // index of the Go field, or inside or unread
	item   *shape   // of the elements of a list
	fields []*shape // of a structure, by number; nil means skipped
	needed set      // the fields that it must have
	member int      // of a union: 1 + index of the Go field for the number of its field; else 0
	checks bool     // it is a checker
}

const (
	inside = -1 // the structure's fields go to the Go structure around it
	unread = -2 // the value has no target, but its type is checked
)

// skipped is the shape of a structure whose fields are skipped.
var skipped = &shape{kind: thrift.STRUCT, at: unread}

func shapeOf(t reflect.Type) *shape {
	s := &shape{name: t.Name(), kind: thrift.TypeOf(t), checks: reflect.PointerTo(t).Implements(reflect.TypeFor[checker]())}
	if s.kind == thrift.LIST {
		s.item = shapeOf(t.Elem())
	}
	if s.kind != thrift.STRUCT {
		return s
	}
	for i := range t.NumField() {
		for path := range strings.FieldsSeq(t.Field(i).Tag.Get("field")) {
			s.put(strings.Split(path, "."), i, t.Field(i))
		}
	}
	return s
}

// put adds Go field number i as the target of a path.
func (s *shape) put(path []string, i int, f reflect.StructField) {
	if path[0] == "*" {
		s.member = i + 1
		return
	}
	number, needed := strings.CutSuffix(path[0], "!")
	id, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	if needed {
		s.needed |= 1 << id
	}
	s.fields = append(s.fields, make([]*shape, max(0, id+1-len(s.fields)))...)
	switch {
	case len(path) == 1:
		s.fields[id] = shapeOf(f.Type)
		if s.fields[id].at = i; f.Name == "_" {
			s.fields[id].at = unread
		}
		return
	case s.fields[id] == nil:
		s.fields[id] = &shape{name: s.name, kind: thrift.STRUCT, at: inside}
	}
	s.fields[id].put(path[1:], i, f)
}

// A reader reads Thrift's compact protocol. The bytes may come from anybody: the reader allocates
// nothing because of a length alone. It is stricter than the protocol, since a flipped bit can have
// such effects: a field of another type, twice or out of order is an error.
type reader struct {
	thrift.BytesReader
	unknown int16 // of the last structure; of a union that of its member
}

// read reads a structure at the start of b, and returns its length. Byte slices in it are parts of b.
func read[T any](to *T, s *shape, b []byte) (int, error) {
	r := reader{BytesReader: new(thrift.CompactProtocol).NewReaderFromBytes(b)}
	err := r.structure(reflect.ValueOf(to).Elem(), s, maxDepth)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = ErrShort
	case err != nil && !errors.Is(err, ErrMalformed):
		err = malformed("%v", err)
	}
	return r.BytesRead(), err
}

func (r *reader) structure(to reflect.Value, s *shape, depth int) error {
	var has set
	var last, unknown int16
	for n := 0; ; n++ {
		f, err := r.ReadField()
		switch {
		case err != nil:
			return err
		case f.Delta:
			f.ID += last
		case f.Type == thrift.STOP && s.member > 0 && n != 1:
			return malformed("a union of %d fields", n)
		case f.Type == thrift.STOP:
			r.unknown = unknown
			return s.check(to, has, unknown)
		}
		if f.ID <= last {
			return malformed("field %d after field %d", f.ID, last)
		}
		last = f.ID
		if f.ID < 64 {
			has |= 1 << f.ID
		}
		var field *shape
		if int(f.ID) < len(s.fields) {
			field = s.fields[f.ID]
		}
		if field == nil && s.member > 0 {
			field = skipped
		}
		var part reflect.Value
		switch {
		case field == nil:
			unknown = cmp.Or(unknown, f.ID)
		case field.at == inside:
			part = to
		case field.at >= 0:
			part = to.Field(field.at)
		}
		if err := r.value(part, field, f.Type, depth); err != nil {
			return err
		}
		if s.member > 0 {
			to.Field(s.member - 1).SetInt(int64(f.ID))
			unknown = r.unknown
		}
	}
}

// check checks a structure after its fields were read.
func (s *shape) check(to reflect.Value, has set, unknown int16) error {
	if missing := s.needed &^ has; missing != 0 {
		return malformed("%s has no field %d", s.name, bits.TrailingZeros64(uint64(missing)))
	}
	if !s.checks {
		return nil
	}
	return to.Addr().Interface().(checker).check(has, unknown)
}

// value reads a value into to. Without a shape it skips the value.
func (r *reader) value(to reflect.Value, s *shape, kind thrift.Type, depth int) (err error) {
	if s != nil && kind != s.kind && (kind != thrift.TRUE || s.kind != thrift.BOOL) {
		return malformed("a value of type %v, want %v", kind, s.kind)
	}
	var number int64
	var text []byte
	switch kind {
	case thrift.TRUE, thrift.FALSE: // their value is in the type
	case thrift.I8:
		var small int8
		small, err = r.ReadInt8()
		number = int64(small)
	case thrift.I16, thrift.I32, thrift.I64:
		number, err = r.ReadInt64()
	case thrift.DOUBLE:
		_, err = r.ReadFloat64()
	case thrift.BINARY:
		text, err = r.ReadBytes()
	case thrift.LIST, thrift.SET, thrift.STRUCT:
		switch {
		case depth == 0:
			return malformed("nested too deep")
		case kind != thrift.STRUCT:
			return r.list(to, s, depth-1)
		case s == nil:
			s = skipped
		}
		return r.structure(to, s, depth-1)
	default:
		return malformed("a value of type %v", kind)
	}
	if err != nil {
		return err
	}
	switch to.Kind() { //nolint:exhaustive // others are skipped
	case reflect.Bool:
		to.SetBool(kind == thrift.TRUE)
	case reflect.Int8, reflect.Int32, reflect.Int64:
		if to.OverflowInt(number) {
			return malformed("%d has more than %d bits", number, to.Type().Bits())
		}
		to.SetInt(number)
	case reflect.String:
		to.SetString(string(text))
	case reflect.Slice:
		to.SetBytes(text)
	}
	return nil
}

// mostAhead bounds the elements of a list that memory is reserved for before they are read.
const mostAhead = 256

// list reads a list into to. Without a shape it skips the list.
func (r *reader) list(to reflect.Value, s *shape, depth int) error {
	var item *shape
	if s != nil {
		item = s.item
	}
	l, err := r.ReadList()
	if to.IsValid() {
		to.Grow(min(int(l.Size), mostAhead))
	}
	for i := 0; i < int(l.Size) && err == nil; i++ {
		var part reflect.Value
		if to.IsValid() {
			to.Grow(1)
			to.SetLen(i + 1)
			part = to.Index(i)
		}
		if item == nil && (l.Type == thrift.TRUE || l.Type == thrift.FALSE) { // a byte each
			_, err = r.ReadBool()
		} else {
			err = r.value(part, item, l.Type, depth)
		}
	}
	return err
}
