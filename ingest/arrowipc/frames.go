package arrowipc

import (
	"encoding/binary"
	"errors"
)

var errLength = errors.New("it is no Arrow IPC stream: a length lies outside of its message")

func checkMessage(description []byte) (body int64, err error) {
	m := flat{data: description, left: len(description)}
	if body = m.message(); m.bad || body < 0 {
		return 0, errLength
	}
	return body, nil
}

// maxDepth bounds how deep types may be nested in each other.
const maxDepth = 64

// A flat is a FlatBuffer that is checked. Tables are visited once for each way to them; left
// bounds the visits by the number of bytes.
type flat struct {
	data  []byte
	left  int
	depth int
	bad   bool
}

// A table is where its values are: positions by field, 0 where one is missing.
type table func(field int) int

func (f *flat) u16(at int) int {
	if at < 0 || at > len(f.data)-2 {
		f.bad = true
		return 0
	}
	return int(binary.LittleEndian.Uint16(f.data[at:]))
}

func (f *flat) u32(at int) int {
	if at < 0 || at > len(f.data)-4 {
		f.bad = true
		return 0
	}
	return int(binary.LittleEndian.Uint32(f.data[at:]))
}

// at is the table that an offset at this position points to.
func (f *flat) at(position int) table {
	none := func(int) int { return 0 }
	if f.left--; f.left < 0 || f.bad {
		f.bad = true
		return none
	}
	start := position + f.u32(position)
	fields := start - int(int32(f.u32(start))) //nolint:gosec // its bits
	count, size := f.u16(fields), f.u16(fields+2)
	if count < 4 || size < 4 || fields > len(f.data)-count || start > len(f.data)-size {
		f.bad = true
	}
	if f.bad {
		return none
	}
	return func(field int) int {
		slot := 4 + 2*field
		if slot >= count {
			return 0
		}
		offset := f.u16(fields + slot)
		if offset == 0 || f.bad {
			return 0
		}
		if offset > size-1 {
			f.bad = true
			return 0
		}
		return start + offset
	}
}

// vector returns where the elements of a vector of this size begin, and their number.
func (f *flat) vector(position, element int) (first, n int) {
	if position == 0 {
		return 0, 0
	}
	start := position + f.u32(position)
	n = f.u32(start)
	if f.bad || n > (len(f.data)-start-4)/element {
		f.bad = true
		return 0, 0
	}
	return start + 4, n
}

// each checks the tables of a vector of them.
func (f *flat) each(position int, check func(table)) {
	first, n := f.vector(position, 4)
	for i := range n {
		if f.bad {
			return
		}
		check(f.at(first + 4*i))
	}
}

// message checks a message and returns the bytes of its body.
func (f *flat) message() (body int64) {
	m := f.at(0)
	f.each(m(4), f.keyValue)
	kind := 0
	if at := m(1); at != 0 {
		kind = f.u16(at) & 0xFF
	}
	if header := m(2); header != 0 && !f.bad {
		switch t := f.at(header); kind {
		case 1:
			f.schema(t)
		case 2:
			if data := t(1); data != 0 {
				f.batch(f.at(data))
			}
		case 3:
			f.batch(t)
		default: // the library refuses it
		}
	}
	if at := m(3); at != 0 && !f.bad {
		body = int64(f.u32(at)) | int64(f.u32(at+4))<<32
	}
	return body
}

func (f *flat) schema(t table) {
	f.each(t(1), f.field)
	f.each(t(2), f.keyValue)
	f.vector(t(3), 8)
}

func (f *flat) field(t table) {
	if f.depth++; f.depth > maxDepth {
		f.bad = true
	}
	defer func() { f.depth-- }()
	f.vector(t(0), 1)
	if at := t(3); at != 0 {
		kind := f.at(at)
		// Texts and lists of types stand in their second field, where they have one.
		if second := kind(1); second != 0 && t(2) != 0 {
			switch f.u16(t(2)) & 0xFF {
			case typeTimestamp:
				f.vector(second, 1)
			case typeUnion:
				f.vector(second, 4)
			default:
			}
		}
	}
	if at := t(4); at != 0 {
		if index := f.at(at)(1); index != 0 {
			f.at(index)
		}
	}
	f.each(t(5), f.field)
	f.each(t(6), f.keyValue)
}

// dictionaries appends the identifier of the dictionary of each field, −1 for none, children
// behind their parent.
func (f *flat) dictionaries(t table, ids []int64) []int64 {
	if f.depth++; f.depth > maxDepth {
		f.bad = true
	}
	defer func() { f.depth-- }()
	id := int64(-1)
	if at := t(4); at != 0 {
		id = 0
		if at := f.at(at)(0); at != 0 {
			id = int64(f.u32(at)) | int64(f.u32(at+4))<<32
		}
	}
	ids = append(ids, id)
	f.each(t(5), func(child table) { ids = f.dictionaries(child, ids) })
	return ids
}

// Kinds of types whose description has a vector.
const (
	typeTimestamp = 10
	typeUnion     = 14
)

func (f *flat) keyValue(t table) {
	f.vector(t(0), 1)
	f.vector(t(1), 1)
}

func (f *flat) batch(t table) {
	f.vector(t(1), 16)
	f.vector(t(2), 16)
	if at := t(3); at != 0 {
		f.at(at)
	}
	f.vector(t(4), 8)
}
