package arrowipc

import (
	"errors"

	flatbuffers "github.com/google/flatbuffers/go"
)

var (
	errLength   = errors.New("a length lies outside of its message")
	errVersion4 = errors.New("a packed batch, or one with metadata, of version 4 of the format, which some readers read otherwise: write the file again with a current writer")
)

// Kinds of message headers, by number in the format.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

const (
	typeInt      = 2
	typeDecimal  = 7
	typeUnion    = 14
	typeBytes    = 15 // bytes of fixed width
	typeDuration = 18
	maxDepth     = 64 // of nested columns
)

// A description has what is read of a message's description.
type description struct {
	kind byte
	rows int64 // of a record batch
	body int64 // bytes

	codec  int8    // of packed
	packed []block // buffers, by position and size in the body; nil if they are not packed
}

// describe reads the description of a message and checks its claims, since the library would
// allocate what they say. Like the library it panics on damage.
func describe(b []byte) (d description, err error) {
	m := rootOf(b)
	d = description{kind: m.GetUint8Slot(slot(1), 0), body: m.GetInt64Slot(slot(3), 0)}
	header, ok := below(m, 2)
	if !ok || d.body < 0 || !readable(m) {
		return d, errLength
	}
	switch d.kind {
	case headerDictionary:
		if header, ok = below(header, 1); ok {
			ok = views(header)
		}
	case headerBatch:
		d.rows = header.GetInt64Slot(slot(0), 0)
		ok = d.rows >= 0 && views(header)
	default:
		return d, nil
	}
	if !ok {
		return d, errLength
	}
	compression, packed := below(header, 3)
	if _, said := below(m, 4); (packed || said) && m.GetInt16Slot(slot(0), 0)+1 == 4 { // readers of version 4 do not agree on them
		return d, errVersion4
	}
	at, n, _ := vector(header, 2, 16)
	for i := range n {
		position := at + flatbuffers.UOffsetT(16*i)
		b := block{offset: header.GetInt64(position), body: header.GetInt64(position + 8)}
		if b.body != 0 && (b.offset < 0 || b.offset%8 != 0 || b.body < 0 || b.offset > d.body || b.body > d.body-b.offset) {
			return d, errLength
		}
		if packed {
			d.packed, d.codec = append(d.packed, b), compression.GetInt8Slot(slot(0), 0)
		}
	}
	return d, nil
}

// readable reports whether the footer or message has a version of the format that pyarrow reads: 4 or 5, since 2017.
func readable(t flatbuffers.Table) bool {
	version := t.GetInt16Slot(slot(0), 0) + 1
	return version == 4 || version == 5
}

// slot returns the position of a field in the field list of a table.
func slot(field int) flatbuffers.VOffsetT { return flatbuffers.VOffsetT(4 + 2*field) } //nolint:gosec // fields are few

func rootOf(b []byte) flatbuffers.Table {
	return flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}
}

// below returns a field that is a table. It returns false if the field is missing.
func below(t flatbuffers.Table, field int) (flatbuffers.Table, bool) {
	at := flatbuffers.UOffsetT(t.Offset(slot(field)))
	if at == 0 {
		return t, false
	}
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + t.Pos)}, true
}

// vector returns position and length of a field that is a vector. ok is false if its elements, of
// width bytes each, do not fit. A missing vector is empty.
func vector(t flatbuffers.Table, field, width int) (at flatbuffers.UOffsetT, n int, ok bool) {
	offset := flatbuffers.UOffsetT(t.Offset(slot(field)))
	if offset == 0 {
		return 0, 0, true
	}
	at, n = t.Vector(offset), t.VectorLen(offset)
	return at, n, n >= 0 && n <= (len(t.Bytes)-int(at))/width
}

// columns returns the columns of a schema, if their number is acceptable. It changes decimals of 32
// and 64 bits, which the library cannot read, to bytes, and then counts again: tables may overlap.
func columns(schema flatbuffers.Table) (all []Described, ok bool) {
	for range 2 {
		l := fieldCount{left: len(schema.Bytes) / 8} // each column needs more bytes
		if ok := l.fields(schema, 1, 1); !ok || !l.changed {
			return l.all, ok
		}
	}
	return nil, false
}

// A Described is a column, or a child of one, in a schema of Arrow.
type Described struct {
	Depth    int // 1 for a column
	Duration bool
}

type fieldCount struct {
	left    int
	changed bool
	all     []Described // each before its children
}

// fields reports whether the columns of a schema, or the children of a column, are at most left. They may share
// descriptions, so that a few bytes can describe any number of columns. Their other lists must fit into the bytes.
func (l *fieldCount) fields(t flatbuffers.Table, field, depth int) bool {
	_, _, metadata := vector(t, field+1, 4)
	at, n, ok := vector(t, field, 4)
	if l.left -= n; !ok || !metadata || l.left < 0 || depth > maxDepth+1 {
		return false
	}
	for i := range n {
		child := flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + flatbuffers.UOffsetT(4*i))}
		kind, typed := below(child, 3)
		dictionary, coded := below(child, 4)
		l.all = append(l.all, Described{depth, child.GetUint8Slot(slot(2), 0) == typeDuration})
		switch number := child.GetUint8Slot(slot(2), 0); {
		case typed && number == typeUnion:
			if _, _, codes := vector(kind, 1, 4); !codes {
				return false
			}
		case typed && number == typeInt && !signs(kind, true), coded && !signs(below(dictionary, 1)):
			return false
		case typed && number == typeDecimal && narrow(kind) > 0:
			l.changed = kind.MutateInt32Slot(slot(0), narrow(kind)/8) && child.MutateByteSlot(slot(2), typeBytes) || l.changed
		}
		if !l.fields(child, 5, depth+1) {
			return false
		}
	}
	return true
}

// signs reports whether an integer type, if there is one, says with 0 or 1 that it has a sign: readers differ in the rest.
func signs(kind flatbuffers.Table, ok bool) bool { return !ok || kind.GetByteSlot(slot(1), 0) <= 1 }

// narrow returns the width in bits of a decimal type if it is 32 or 64, otherwise 0.
func narrow(kind flatbuffers.Table) int32 {
	if bits := kind.GetInt32Slot(slot(2), 0); bits == 32 || bits == 64 {
		return bits
	}
	return 0
}

// views reports whether a record batch has columns, and its view columns claim at most as many buffers as it has.
func views(batch flatbuffers.Table) bool {
	_, buffers, ok := vector(batch, 2, 16)
	at, n, good := vector(batch, 4, 8)
	for i := 0; good && ok && i < n; i++ {
		count := batch.GetInt64(at + flatbuffers.UOffsetT(8*i))
		good = count >= 0 && count <= int64(buffers)
	}
	return ok && good && batch.Offset(slot(1)) != 0
}
