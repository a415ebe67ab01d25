package arrowipc

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// Magic begins and ends an Arrow IPC file.
const Magic = "ARROW1"

const (
	tailBytes = 10 // length of the footer, and the magic
	headBytes = 8  // the magic, and two zeros
	// maxFooter bounds a footer: 24 bytes a record batch.
	maxFooter = 64 << 20
	// An unpacked record batch may have unpackMost bytes, and at most the larger of packedMost
	// times its stored bytes and twice the size of its rows: equal values are packed into next
	// to nothing.
	packedMost = 1 << 10
	unpackMost = 1 << 30
)

// A File is the footer of an Arrow IPC file (Feather 2).
type File struct {
	Schema  *arrow.Schema
	Batches []Batch
	Sum     [sha256.Size]byte // of the footer

	schema       []byte // its message
	known        described
	dictionaries []block
}

// A Batch describes a record batch.
type Batch struct {
	Rows  int64
	Bytes int64 // stored

	at block
}

// A block is the place of a message.
type block struct{ offset, description, body int64 }

var errFile = errors.New("the Arrow file is damaged, or was not written to its end")

// Open reads the footer. If rows is true it also reads the descriptions of record batches, for their
// numbers of rows.
func Open(r io.ReaderAt, size int64, rows bool) (f *File, err error) {
	defer func() { // the border to a library that panics on damage
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("%w: %v", errFile, p)
		}
	}()
	footer, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	f = &File{Sum: sha256.Sum256(footer)}
	m := flat{data: footer, left: len(footer)}
	root := m.table("Footer", 0, 0)
	if m.bad || !root.at(1).set || !pairs(root.at(4)) {
		return nil, errFile
	}
	end := size - tailBytes - int64(len(footer))
	known, good := describe(root.at(1), root.at(0).number)
	f.known = known
	if !good {
		return nil, errFile
	}
	if err := f.readSchema(r, footer, root, end); err != nil {
		return nil, err
	}
	if f.dictionaries, good = blocks(root.at(2), end); !good {
		return nil, errFile
	}
	batches, good := blocks(root.at(3), end)
	if !good {
		return nil, errFile
	}
	if err := apart(f.dictionaries, batches); err != nil {
		return nil, err
	}
	if err := f.readDictionaries(r, known, end, len(batches) > 0); err != nil {
		return nil, err
	}
	for _, at := range batches {
		b := Batch{at: at, Bytes: at.description + at.body}
		if rows {
			header, err := headerOf(r, at, end, known.version, headerBatch)
			if err != nil {
				return nil, err
			}
			if !known.batch(header, known.fields, at.body, false) {
				return nil, errFile
			}
			b.Rows = header.at(0).number
		}
		f.Batches = append(f.Batches, b)
	}
	return f, nil
}

// readDictionaries checks the dictionaries. Each identifier of the schema must have one if needed, or
// if any has.
func (f *File) readDictionaries(r io.ReaderAt, known described, end int64, needed bool) error {
	found := map[int64]bool{}
	for _, at := range f.dictionaries {
		header, err := headerOf(r, at, end, known.version, headerDictionary)
		if err != nil {
			return err
		}
		id, batch := header.at(0).number, header.at(1)
		field, is := known.dictionaries[id]
		if !is || found[id] || !batch.set || header.at(2).number != 0 || !known.batch(batch, []node{field}, at.body, true) {
			return errFile
		}
		found[id] = true
	}
	if len(found) != len(known.dictionaries) && (needed || len(found) > 0) {
		return errFile
	}
	return nil
}

// apart returns an error if a byte belongs to two blocks: else a footer of a few bytes could repeat a
// record batch at will.
func apart(dictionaries, batches []block) error {
	all := slices.Concat(dictionaries, batches)
	slices.SortFunc(all, func(a, b block) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(all); i++ {
		if before := all[i-1]; all[i].offset < before.offset+before.description+before.body {
			return fmt.Errorf("%w: two of its record batches share bytes, from %d on", errFile, all[i].offset)
		}
	}
	return nil
}

// readSchema reads the schema of the footer. Another schema at the head of the file is an error:
// readers of files use the one, readers of streams the other.
func (f *File) readSchema(r io.ReaderAt, footer []byte, root node, end int64) error {
	head, err := headerOf(r, block{headBytes, -1, 0}, end, root.at(0).number, headerSchema)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(head, root.at(1)) {
		return fmt.Errorf("%w: its head and its footer have different schemas", errFile)
	}
	f.schema = schemaMessage(footer, root.at(0).number)
	in, err := ipc.NewReader(bytes.NewReader(f.schema), ipc.WithAllocator(&Allowance{Left: len(f.schema)}))
	if err != nil {
		return fmt.Errorf("%w: %w", errFile, err)
	}
	defer in.Release()
	f.Schema = in.Schema()
	return nil
}

// schemaMessage makes a message of the schema in a footer: a table of version, kind, header and
// length of the body, followed by the footer, into which the header points.
func schemaMessage(footer []byte, version int64) []byte {
	const (
		prefix = 8  // mark and length
		fields = 4  // the place of the list of fields
		start  = 16 // the table
		before = 40 // bytes before the footer
		schema = 1  // the kind
	)
	out := make([]byte, prefix+before, prefix+before+len(footer)+8)
	m := out[prefix:]
	binary.LittleEndian.PutUint32(m, start)
	for i, v := range []uint16{12, 24, 4, 6, 8, 16} { // its own size, the table's, and where each field is
		binary.LittleEndian.PutUint16(m[fields+2*i:], v)
	}
	binary.LittleEndian.PutUint32(m[start:], start-fields)
	binary.LittleEndian.PutUint16(m[start+4:], uint16(version)) //nolint:gosec // the caller has read it as a number of two bytes
	m[start+6] = schema
	f := flat{data: footer}
	root := f.follow(0)
	at := root + int(f.number(root-int(f.number(root, 4))+6, 2))                      // the second field of the footer
	binary.LittleEndian.PutUint32(m[start+8:], uint32(before+f.follow(at)-(start+8))) //nolint:gosec // a footer has at most 64 MiB, and describe has checked its offsets
	out = append(out, footer...)
	out = append(out, make([]byte, -len(out)&7)...)
	binary.LittleEndian.PutUint32(out, 0xFFFFFFFF)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-prefix)) //nolint:gosec // a footer is shorter
	return out
}

func readFooter(r io.ReaderAt, size int64) ([]byte, error) {
	if size < headBytes+tailBytes {
		return nil, errFile
	}
	tail := make([]byte, tailBytes)
	if _, err := r.ReadAt(tail, size-tailBytes); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != Magic || n > maxFooter || n > size-headBytes-tailBytes {
		return nil, errFile
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-tailBytes-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return footer, nil
}

// blocks returns the places of messages; false unless they are before end.
func blocks(all node, end int64) ([]block, bool) {
	found := make([]block, 0, len(all.list))
	for _, n := range all.list {
		b := block{n.at(0).number, n.at(1).number, n.at(2).number}
		if b.offset < headBytes || b.description < 8 || b.body < 0 || b.offset > end || b.description > end-b.offset || b.body > end-b.offset-b.description || (b.offset|b.description|b.body)%8 != 0 {
			return nil, false
		}
		found = append(found, b)
	}
	return found, true
}

// message reads and checks the description of a message, with the length before it. If
// at.description is −1, the description may have any length.
func message(r io.ReaderAt, at block, end int64) (text []byte, m node, err error) {
	head := make([]byte, 8)
	if _, err := r.ReadAt(head, at.offset); err != nil {
		return nil, m, noEOF(err)
	}
	prefix, size := int64(8), int64(binary.LittleEndian.Uint32(head[4:]))
	if binary.LittleEndian.Uint32(head) != 0xFFFFFFFF {
		prefix, size = 4, int64(binary.LittleEndian.Uint32(head))
	}
	if size == 0 || size > end-at.offset-prefix || at.description >= 0 && prefix+size != at.description {
		return nil, m, errFile
	}
	text = make([]byte, prefix+size)
	if _, err := r.ReadAt(text, at.offset); err != nil {
		return nil, m, noEOF(err)
	}
	m, body, err := checkMessage(text[prefix:])
	if err == nil && (body != at.body && at.description >= 0 || !pairs(m.at(4))) {
		err = errFile
	}
	return text, m, err
}

// headerOf reads the header of a message, which must have this version and kind.
func headerOf(r io.ReaderAt, at block, end, version, kind int64) (node, error) {
	_, m, err := message(r, at, end)
	if err == nil && (m.at(0).number != version || m.at(1).number != kind || !m.at(2).set) {
		err = errFile
	}
	return m.at(2), err
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// rowBytes returns the bytes of a row in the columns of fixed width.
func (f *File) rowBytes() int64 {
	bits := int64(0)
	for _, field := range f.Schema.Fields() {
		bits++ // of the validity bitmap
		if t, ok := field.Type.(arrow.FixedWidthDataType); ok {
			bits += int64(t.BitWidth())
		}
	}
	return min((bits+7)/8, unpackMost)
}

// Read reads a record batch, with the dictionaries of the file. The caller recovers from panics
// of the library, and releases the record.
func (f *File) Read(r io.ReaderAt, batch Batch) (arrow.Record, error) {
	stream, stored := f.schema, int64(0)
	for _, at := range append(slices.Clone(f.dictionaries), batch.at) {
		text, m, err := message(r, at, at.offset+at.description)
		if err != nil {
			return nil, err
		}
		body := make([]byte, at.body)
		if _, err := r.ReadAt(body, at.offset+at.description); err != nil {
			return nil, noEOF(err)
		}
		rows, fields, values := m.at(2), f.known.fields, m.at(1).number == headerDictionary
		if values {
			rows, fields = rows.at(1), []node{f.known.dictionaries[rows.at(0).number]}
		}
		if !f.known.batch(rows, fields, at.body, values) || !whole(rows, fields, values, body) {
			return nil, errFile
		}
		stream, stored = slices.Concat(stream, text, body), stored+at.body
	}
	room := &Allowance{Left: int(min(unpackMost, max(packedMost*stored, 2*f.rowBytes()*min(batch.Rows, unpackMost))) + stored + 1<<16)}
	in, err := NewReader(stream, room)
	if err == nil {
		defer in.Release()
		if !in.Next() {
			err = cmp.Or(in.Err(), io.ErrUnexpectedEOF)
		}
	}
	switch {
	case err != nil && room.exceeded:
		return nil, fmt.Errorf("unpacked it is too large: a record batch may have %d MiB (hint: write batches of fewer rows): %w", unpackMost>>20, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errFile, err)
	}
	found := in.Record()
	if found.NumRows() != batch.Rows {
		return nil, fmt.Errorf("%w: a record batch has %d rows, and had %d", errFile, found.NumRows(), batch.Rows)
	}
	found.Retain()
	return found, nil
}
