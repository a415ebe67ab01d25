package sink

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Thrift's compact protocol, in which Parquet writes its footer and the headers
// of its pages: the types of fields and elements.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftInt32  = 5
	thriftInt64  = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// thriftDepth bounds the nesting; a footer needs about ten.
const thriftDepth = 24

// A thriftReader reads values one after the other. It allocates nothing on the
// word of a length. After the first fault all that it gives is zero.
type thriftReader struct {
	b     []byte
	pos   int
	depth int
	err   error
}

func (r *thriftReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

var errShort = errors.New("it ends early")

// take returns the next n bytes.
func (r *thriftReader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.b)-r.pos) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	r.pos += int(n)
	return r.b[r.pos-int(n) : r.pos : r.pos]
}

func (r *thriftReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *thriftReader) varint() uint64 {
	if r.err != nil {
		return 0
	}
	u, n := binary.Uvarint(r.b[r.pos:])
	if n <= 0 {
		r.fail("a number ends early or has more than 64 bits")
		return 0
	}
	r.pos += n
	return u
}

// want checks the type of a value that is to be read.
func (r *thriftReader) want(kind, want byte) {
	if kind != want {
		r.fail("a value of type %d, want %d", kind, want)
	}
}

// integer reads an integer of any width.
func (r *thriftReader) integer(kind byte) int64 {
	if kind != thriftInt16 && kind != thriftInt64 {
		r.want(kind, thriftInt32)
	}
	u := r.varint()
	return int64(u>>1) ^ -int64(u&1)
}

// text reads bytes, which are part of those that are read from.
func (r *thriftReader) text(kind byte) []byte {
	r.want(kind, thriftBinary)
	return r.take(r.varint())
}

// inside runs read one level deeper.
func (r *thriftReader) inside(read func()) {
	if r.depth++; r.depth > thriftDepth {
		r.fail("nested deeper than %d", thriftDepth)
	}
	if r.err == nil {
		read()
	}
	r.depth--
}

// structure hands the fields of a structure to field, which reads or skips them.
func (r *thriftReader) structure(kind byte, field func(id int16, kind byte)) {
	r.want(kind, thriftStruct)
	r.inside(func() {
		id := int16(0)
		for {
			head := r.byte()
			if r.err != nil || head == 0 {
				return
			}
			if id += int16(head >> 4); head>>4 == 0 {
				id = int16(r.integer(thriftInt16))
			}
			field(id, head&15)
		}
	})
}

// list calls element for each element of a list, whose type it gives.
func (r *thriftReader) list(kind byte, element func(kind byte)) {
	r.want(kind, thriftList)
	head := r.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = r.varint()
	}
	if n > uint64(len(r.b)-r.pos) { // an element has a byte at least
		r.fail("a list of %d elements in %d bytes", n, len(r.b)-r.pos)
	}
	r.inside(func() {
		for ; n > 0 && r.err == nil; n-- {
			element(head & 15)
		}
	})
}

// skip steps over the value of a field.
func (r *thriftReader) skip(kind byte) {
	if kind != thriftTrue && kind != thriftFalse { // which are in the type
		r.skipElement(kind)
	}
}

// skipElement steps over a value that is no field.
func (r *thriftReader) skipElement(kind byte) {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		r.take(1)
	case thriftInt16, thriftInt32, thriftInt64:
		r.varint()
	case thriftDouble:
		r.take(8)
	case thriftBinary:
		r.text(kind)
	case thriftList, thriftSet:
		r.list(thriftList, r.skipElement)
	case thriftStruct:
		r.structure(kind, func(_ int16, kind byte) { r.skip(kind) })
	default: // Parquet has no map
		r.fail("a value of type %d", kind)
	}
}
