package parquetmeta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The types of fields and elements in Thrift's compact protocol. Parquet has no maps.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeInt16  = 4
	typeInt32  = 5
	typeInt64  = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeStruct = 12
)

// ErrShort means that the bytes end before the value does. More bytes may help.
var ErrShort = errors.New("it ends early")

// ErrMalformed is wrapped by all other errors.
var ErrMalformed = errors.New("it is malformed")

// maxDepth bounds the nesting of structures and lists. A footer needs about ten.
const maxDepth = 24

// A reader reads Thrift's compact protocol. The bytes may come from anybody: the reader allocates
// nothing because of a length alone. It is stricter than the protocol, since a flipped bit can have
// such effects: a field of another type, twice or out of order is an error. After the first error
// it returns zeros.
type reader struct {
	b     []byte
	pos   int
	depth int // remaining levels of nesting
	err   error
}

func newReader(b []byte) *reader { return &reader{b: b, depth: maxDepth} }

// failf sets the error, unless there is one.
func (r *reader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
	}
}

func (r *reader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.b)-r.pos) {
		r.err = ErrShort
	}
	if r.err != nil {
		return nil
	}
	r.pos += int(n)
	return r.b[r.pos-int(n) : r.pos : r.pos]
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) varint() uint64 {
	if r.err != nil {
		return 0
	}
	u, n := binary.Uvarint(r.b[r.pos:])
	switch {
	case n == 0:
		r.err = ErrShort
		return 0
	case n < 0:
		r.failf("a number of more than 64 bits")
		return 0
	}
	r.pos += n
	return u
}

// integer reads a signed number of any width.
func (r *reader) integer() int64 {
	u := r.varint()
	return int64(u>>1) ^ -int64(u&1)
}

// want checks the type of a field or element.
func (r *reader) want(kind, want byte) {
	if kind != want {
		r.failf("a value of type %d, want %d", kind, want)
	}
}

func (r *reader) int32(kind byte) int32 {
	r.want(kind, typeInt32)
	v := r.integer()
	if v != int64(int32(v)) {
		r.failf("%d has more than 32 bits", v)
		return 0
	}
	return int32(v)
}

// bool reads a field. In a list a bool would be a byte, but no list of bools is read.
func (r *reader) bool(kind byte) bool {
	if kind != typeTrue {
		r.want(kind, typeFalse)
	}
	return r.err == nil && kind == typeTrue
}

// text reads a byte string. It shares the memory of r.b.
func (r *reader) text(kind byte) []byte {
	r.want(kind, typeBinary)
	return r.take(r.varint())
}

// value reads a field into the variable that to points to, or calls the function to.
func (r *reader) value(kind byte, to any) {
	switch to := to.(type) {
	case *int8:
		r.want(kind, typeByte)
		*to = int8(r.byte())
	case *int32:
		*to = r.int32(kind)
	case *int64:
		r.want(kind, typeInt64)
		*to = r.integer()
	case *bool:
		*to = r.bool(kind)
	case *[]byte:
		*to = r.text(kind)
	case func(kind byte):
		to(kind)
	}
}

func (r *reader) inside(read func()) {
	if r.depth--; r.depth < 0 {
		r.failf("nested too deep")
	}
	if r.err == nil {
		read()
	}
	r.depth++
}

// each calls field with each field of a structure, in the order of their numbers. It skips the
// fields that field does not read; if field is nil, it skips all.
func (r *reader) each(kind byte, field func(id int16, kind byte)) {
	r.want(kind, typeStruct)
	r.inside(func() {
		last := int64(math.MinInt16)
		id := int64(0)
		for {
			head := r.byte()
			if r.err != nil || head == 0 {
				return
			}
			if id += int64(head >> 4); head>>4 == 0 {
				id = r.integer()
			}
			if id <= last || id > math.MaxInt16 {
				r.failf("field %d after field %d", id, last)
				return
			}
			last = id
			at := r.pos
			if field != nil {
				field(int16(id), head&15)
			}
			if r.pos == at {
				r.skip(head & 15)
			}
		}
	})
}

// A set is a set of field numbers from 0 to 63.
type set uint64

func (s set) has(id int) bool { return s>>id&1 == 1 }

// fields are the targets for the fields of a structure, by number: see [reader.value].
type fields []any

// structure reads a structure that must have the needed fields. It returns the set of its fields,
// and the numbers of those without a target.
func (r *reader) structure(kind byte, what string, to fields, needed ...int) (has set, others []int16) {
	r.each(kind, func(id int16, kind byte) {
		if 0 <= id && id < 64 {
			has |= 1 << id
		}
		if id < 0 || int(id) >= len(to) || to[id] == nil {
			others = append(others, id)
			return
		}
		r.value(kind, to[id])
	})
	for _, id := range needed {
		if !has.has(id) {
			r.failf("%s has no field %d", what, id)
		}
	}
	return has, others
}

// union reads a structure with exactly one field, and returns that field's number.
func (r *reader) union(kind byte, field func(id int16, kind byte)) int16 {
	var member int16
	n := 0
	r.each(kind, func(id int16, kind byte) {
		if n++; n > 1 {
			r.failf("a union of two fields")
		}
		member = id
		field(id, kind)
	})
	if n == 0 {
		r.failf("a union of no field")
	}
	return member
}

// list calls element with the type of each element of a list, and skips the elements that element
// does not read.
func (r *reader) list(kind byte, element func(kind byte)) {
	r.want(kind, typeList)
	head := r.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = r.varint()
	}
	if r.err == nil && n > uint64(len(r.b)-r.pos) { // each element has at least a byte
		r.err = ErrShort
	}
	r.inside(func() {
		for ; n > 0 && r.err == nil; n-- {
			at := r.pos
			element(head & 15)
			if r.pos == at {
				r.skipElement(head & 15)
			}
		}
	})
}

// skip skips the value of a field.
func (r *reader) skip(kind byte) {
	if kind != typeTrue && kind != typeFalse { // their value is in the type
		r.skipElement(kind)
	}
}

func (r *reader) skipElement(kind byte) {
	switch kind {
	case typeTrue, typeFalse, typeByte:
		r.take(1)
	case typeInt16, typeInt32, typeInt64:
		r.varint()
	case typeDouble:
		r.take(8)
	case typeBinary:
		r.text(kind)
	case typeList, typeSet:
		r.list(typeList, r.skipElement)
	case typeStruct:
		r.each(kind, nil)
	default:
		r.failf("a value of type %d", kind)
	}
}
