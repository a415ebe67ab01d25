package lake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// Thrift's compact protocol: the types of fields and elements.
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

	// thriftDepth bounds the nesting; a Parquet footer needs about ten.
	thriftDepth = 32
	// thriftGain bounds what the lists of a structure need in memory, as a
	// multiple of its bytes. The description of a chunk has 560 bytes in memory
	// and in a file at least 25.
	thriftGain = 32
	// thriftFree may be needed whatever the length.
	thriftFree = 1 << 12
)

var (
	errShort     = errors.New("it ends early")
	errMalformed = errors.New("it is malformed")
)

// decodeThrift decodes the structure at the start of b into v and returns its
// length. It walks the structure first: the decoder calls itself for what is
// nested, however deeply, and allocates what a list's or a string's length field
// says before it looks at an element. So nesting is bounded, no length may exceed
// the bytes that follow, and lists may not need more memory than thriftGain says.
// An error that wraps errShort may go away with a longer b.
func decodeThrift(b []byte, v any) (int, error) {
	w := walker{b: b, free: thriftGain*len(b) + thriftFree}
	if err := w.structure(shapeOf(reflect.TypeOf(v).Elem()), 0); err != nil {
		return 0, err
	}
	var protocol thrift.CompactProtocol
	if err := thrift.NewDecoder(protocol.NewReaderFromBytes(b[:w.pos:w.pos])).Decode(v); err != nil {
		return 0, err
	}
	return w.pos, nil
}

// A shape is what the walk must know of the Go type that a value is decoded into.
type shape struct {
	element int              // of a list: bytes in memory of an element
	fields  map[int16]*shape // of a structure, or of a list's elements, by number
}

// unknown is the shape of a value that is passed over by the decoder, or that
// stands in a union: the lists there are of strings or of smaller things.
var unknown = &shape{element: int(unsafe.Sizeof(""))}

// shapes keeps the shapes of the few types that are decoded.
var shapes sync.Map // of reflect.Type to *shape

// shapeOf returns the shape of a type of parquet-go's package format.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := unknown
	switch t.Kind() {
	case reflect.Struct:
		s = &shape{element: unknown.element, fields: map[int16]*shape{}}
		for f := range t.Fields() {
			tag, _, _ := strings.Cut(f.Tag.Get("thrift"), ",")
			if id, err := strconv.ParseInt(tag, 10, 16); err == nil {
				s.fields[int16(id)] = shapeOf(f.Type)
			}
		}
	case reflect.Slice:
		s = &shape{element: int(t.Elem().Size()), fields: shapeOf(t.Elem()).fields}
	default:
	}
	shapes.Store(t, s)
	return s
}

// walker steps over a value without decoding it.
type walker struct {
	b    []byte
	pos  int
	free int // bytes of memory that lists may still need
}

func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.b)-w.pos) {
		return errShort
	}
	w.pos += int(n)
	return nil
}

func (w *walker) byte() (byte, error) {
	if w.pos == len(w.b) {
		return 0, errShort
	}
	w.pos++
	return w.b[w.pos-1], nil
}

func (w *walker) varint() (uint64, error) {
	u, n := binary.Uvarint(w.b[w.pos:])
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, fmt.Errorf("%w: a number of more than 64 bits", errMalformed)
	}
	w.pos += n
	return u, nil
}

// structure steps over fields up to the stop byte.
func (w *walker) structure(s *shape, depth int) error {
	id := int16(0)
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if id += int16(head >> 4); head>>4 == 0 {
			number, err := w.varint()
			if err != nil {
				return err
			}
			id = int16(unzigzag(number)) // as the decoder does
		}
		if t := head & 15; t == thriftTrue || t == thriftFalse {
			continue // the value is the type
		} else if err := w.value(t, s.field(id), depth); err != nil {
			return err
		}
	}
}

// field is the shape of a field.
func (s *shape) field(id int16) *shape {
	if f := s.fields[id]; f != nil {
		return f
	}
	return unknown
}

// value steps over one value of type t that is no field of type bool.
func (w *walker) value(t byte, s *shape, depth int) error {
	if depth++; depth > thriftDepth {
		return fmt.Errorf("%w: nested deeper than %d", errMalformed, thriftDepth)
	}
	switch t {
	case thriftTrue, thriftFalse, thriftByte:
		return w.skip(1)
	case thriftInt16, thriftInt32, thriftInt64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(s, depth)
	case thriftMap:
		return w.dictionary(depth)
	case thriftStruct:
		return w.structure(s, depth)
	default:
		return fmt.Errorf("%w: type %d does not exist", errMalformed, t)
	}
}

func (w *walker) list(s *shape, depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	return w.values(n, s, depth, head&15)
}

func (w *walker) dictionary(depth int) error {
	n, err := w.varint()
	if err != nil || n == 0 {
		return err
	}
	types, err := w.byte()
	if err != nil {
		return err
	}
	return w.values(n, unknown, depth, types>>4, types&15)
}

// values steps over n groups of values, one of each type; every value has at
// least one byte.
func (w *walker) values(n uint64, s *shape, depth int, types ...byte) error {
	if n > uint64(len(w.b)-w.pos) {
		return errShort
	}
	if n > uint64(w.free/s.element) {
		return fmt.Errorf("%w: %d list elements in %d bytes would need far more memory than the file has bytes", errMalformed, n, len(w.b))
	}
	w.free -= int(n) * s.element
	for range n {
		for _, t := range types {
			if err := w.value(t, s, depth); err != nil {
				return err
			}
		}
	}
	return nil
}
