package lake

import (
	"encoding/binary"
	"errors"
	"fmt"

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
)

var (
	errShort     = errors.New("it ends early")
	errMalformed = errors.New("it is malformed")
)

// decodeThrift decodes the structure at the start of b into v and returns its
// length. It walks the structure first: the decoder allocates what a list's or
// a string's length field says, so no length may exceed the bytes that follow.
// An error that wraps errShort may go away with a longer b.
func decodeThrift(b []byte, v any) (int, error) {
	w := walker{b: b}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	var protocol thrift.CompactProtocol
	if err := thrift.NewDecoder(protocol.NewReaderFromBytes(b[:w.pos:w.pos])).Decode(v); err != nil {
		return 0, err
	}
	return w.pos, nil
}

// walker steps over a value without decoding it.
type walker struct {
	b   []byte
	pos int
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
func (w *walker) structure(depth int) error {
	if depth > thriftDepth {
		return fmt.Errorf("%w: nested deeper than %d", errMalformed, thriftDepth)
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 {
			if _, err := w.varint(); err != nil { // the field's number
				return err
			}
		}
		if t := head & 15; t == thriftTrue || t == thriftFalse {
			continue // the value is the type
		} else if err := w.value(t, depth); err != nil {
			return err
		}
	}
}

// value steps over one value of type t that is no field of type bool.
func (w *walker) value(t byte, depth int) error {
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
		return w.list(depth)
	case thriftMap:
		return w.dictionary(depth)
	case thriftStruct:
		return w.structure(depth + 1)
	default:
		return fmt.Errorf("%w: type %d does not exist", errMalformed, t)
	}
}

func (w *walker) list(depth int) error {
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
	return w.values(n, depth, head&15)
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
	return w.values(n, depth, types>>4, types&15)
}

// values steps over n groups of values, one of each type; every value has at
// least one byte.
func (w *walker) values(n uint64, depth int, types ...byte) error {
	if n > uint64(len(w.b)-w.pos) {
		return errShort
	}
	for range n {
		for _, t := range types {
			if err := w.value(t, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
