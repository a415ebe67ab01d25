// Package thrift reads Thrift's compact protocol, in which Parquet writes its footer
// and the headers of its pages. The bytes come from anybody: nothing is allocated on
// the word of a length, nesting is bounded, and what the protocol leaves to a reader's
// mercy (a field of another type, twice, or out of order) is a fault, for a flipped
// bit looks like that.
package thrift

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The types of fields and elements.
const (
	True   = 1
	False  = 2
	Byte   = 3
	Int16  = 4
	Int32  = 5
	Int64  = 6
	Double = 7
	Binary = 8
	List   = 9
	Set    = 10
	Map    = 11
	Struct = 12
)

// ErrShort is the error of bytes that end before the value does: with more of them
// it may go away.
var ErrShort = errors.New("it ends early")

// ErrMalformed is what all other errors wrap.
var ErrMalformed = errors.New("it is malformed")

// A Reader reads values one after the other. After the first fault all that it
// gives is zero.
type Reader struct {
	b     []byte
	pos   int
	depth int // that may still be gone down
	err   error
}

// NewReader reads from b values that are nested at most depth deep.
func NewReader(b []byte, depth int) *Reader { return &Reader{b: b, depth: depth} }

// Err returns the first fault.
func (r *Reader) Err() error { return r.err }

// Read returns how many bytes were read.
func (r *Reader) Read() int { return r.pos }

// Failf makes a fault of what was read, unless there is one already.
func (r *Reader) Failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
	}
}

// take returns the next n bytes.
func (r *Reader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.b)-r.pos) {
		r.err = ErrShort
	}
	if r.err != nil {
		return nil
	}
	r.pos += int(n)
	return r.b[r.pos-int(n) : r.pos : r.pos]
}

func (r *Reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *Reader) varint() uint64 {
	if r.err != nil {
		return 0
	}
	u, n := binary.Uvarint(r.b[r.pos:])
	switch {
	case n == 0:
		r.err = ErrShort
		return 0
	case n < 0:
		r.Failf("a number of more than 64 bits")
		return 0
	}
	r.pos += n
	return u
}

// integer reads a number of any width.
func (r *Reader) integer() int64 {
	u := r.varint()
	return int64(u>>1) ^ -int64(u&1)
}

// want makes sure of the type of a field or element.
func (r *Reader) want(kind, want byte) {
	if kind != want {
		r.Failf("a value of type %d, want %d", kind, want)
	}
}

// Int64 reads a number of 64 bits.
func (r *Reader) Int64(kind byte) int64 {
	r.want(kind, Int64)
	return r.integer()
}

// Int32 reads a number of 32 bits.
func (r *Reader) Int32(kind byte) int32 {
	r.want(kind, Int32)
	v := r.integer()
	if v != int64(int32(v)) {
		r.Failf("%d has more than 32 bits", v)
		return 0
	}
	return int32(v)
}

// Byte reads a number of 8 bits.
func (r *Reader) Byte(kind byte) int8 {
	r.want(kind, Byte)
	return int8(r.byte())
}

// Bool reads a field that is true or false. (An element of a list has a byte of its
// own; Parquet has lists of such only where nothing is read.)
func (r *Reader) Bool(kind byte) bool {
	if kind != True {
		r.want(kind, False)
	}
	return r.err == nil && kind == True
}

// Text reads bytes, which are part of those that are read from.
func (r *Reader) Text(kind byte) []byte {
	r.want(kind, Binary)
	return r.take(r.varint())
}

// inside runs read one level deeper.
func (r *Reader) inside(read func()) {
	if r.depth--; r.depth < 0 {
		r.Failf("nested too deep")
	}
	if r.err == nil {
		read()
	}
	r.depth++
}

// Fields is a set of fields of a structure, by their numbers from 0 to 63.
type Fields uint64

// Has reports whether a field is one of them.
func (f Fields) Has(id int16) bool { return 0 <= id && id < 64 && f>>id&1 == 1 }

// Need makes sure that a structure has fields.
func (r *Reader) Need(has Fields, what string, ids ...int16) {
	for _, id := range ids {
		if !has.Has(id) {
			r.Failf("%s has no field %d", what, id)
		}
	}
}

// Structure hands the fields of a structure to field, in the order of their numbers,
// and returns which it has. What field does not read is skipped; nil reads nothing.
func (r *Reader) Structure(kind byte, field func(id int16, kind byte)) (has Fields) {
	r.want(kind, Struct)
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
				r.Failf("field %d after field %d", id, last)
				return
			}
			last = id
			if 0 <= id && id < 64 {
				has |= 1 << id
			}
			at := r.pos
			if field != nil {
				field(int16(id), head&15)
			}
			if r.pos == at {
				r.skip(head & 15)
			}
		}
	})
	return has
}

// List calls element for each element of a list, whose type it gives. What element does
// not read is skipped.
func (r *Reader) List(kind byte, element func(kind byte)) {
	r.want(kind, List)
	head := r.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = r.varint()
	}
	if r.err == nil && n > uint64(len(r.b)-r.pos) { // an element has a byte at least
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

// skip steps over the value of a field.
func (r *Reader) skip(kind byte) {
	if kind != True && kind != False { // which are in the type
		r.skipElement(kind)
	}
}

// skipElement steps over a value that is no field.
func (r *Reader) skipElement(kind byte) {
	switch kind {
	case True, False, Byte:
		r.take(1)
	case Int16, Int32, Int64:
		r.varint()
	case Double:
		r.take(8)
	case Binary:
		r.Text(kind)
	case List, Set:
		r.List(List, r.skipElement)
	case Struct:
		r.Structure(kind, nil)
	default: // Parquet has no map
		r.Failf("a value of type %d", kind)
	}
}
