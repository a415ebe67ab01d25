package arrowipc

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	maxFooter = 256 << 20
	// unpackMost bounds an unpacked record batch; so does the larger of packedMost times its
	// stored bytes and twice what its rows take, for equal values are packed into next to
	// nothing.
	packedMost = 1 << 10
	unpackMost = 1 << 30
)

// A File is an Arrow IPC file (Feather 2) by its footer.
type File struct {
	Schema  *arrow.Schema
	Batches []Batch
	Sum     [sha256.Size]byte // of the footer

	schema       []byte // its message
	dictionaries []block
}

// A Batch is a record batch: what its description says.
type Batch struct {
	Rows  int64
	Bytes int64 // stored

	at block
}

// A block is where a message stands.
type block struct{ offset, description, body int64 }

var errFile = errors.New("the Arrow file is damaged, or was not written to its end")

// Open reads the footer, and the descriptions of record batches where rows is true.
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
	root := m.at(0)
	if at := root(1); at != 0 {
		m.schema(m.at(at))
	}
	end := size - tailBytes - int64(len(footer))
	f.dictionaries = m.blocks(root(2), end)
	batches := m.blocks(root(3), end)
	if m.bad || root(1) == 0 {
		return nil, errFile
	}
	if err := apart(f.dictionaries, batches); err != nil {
		return nil, err
	}
	if err := f.readSchemas(r, m, root, end); err != nil {
		return nil, err
	}
	for _, at := range batches {
		b := Batch{at: at, Bytes: at.description + at.body}
		if rows {
			text, err := message(r, at, end)
			if err != nil {
				return nil, err
			}
			if b.Rows, err = rowsOf(text); err != nil {
				return nil, err
			}
		}
		f.Batches = append(f.Batches, b)
	}
	return f, nil
}

// apart demands that no byte belongs to two blocks: a footer of a few bytes could else repeat a
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

// readSchemas reads the schema of the footer and demands the same at the head: readers of files
// use the one, readers of streams the other.
func (f *File) readSchemas(r io.ReaderAt, footer flat, root table, end int64) error {
	head, err := message(r, block{headBytes, -1, 0}, end)
	if err != nil {
		return err
	}
	f.schema = schemaMessage(footer, root)
	said, ids, err := schemaOf(f.schema)
	if err != nil {
		return err
	}
	first, others, err := schemaOf(head)
	if err != nil {
		return err
	}
	if !said.Equal(first) || !slices.Equal(ids, others) {
		return fmt.Errorf("%w: its head and its footer have different schemas", errFile)
	}
	f.Schema = said
	return nil
}

// schemaOf reads the message of a schema, with the identifiers of its dictionaries.
func schemaOf(message []byte) (*arrow.Schema, []int64, error) {
	description := message[4:]
	if binary.LittleEndian.Uint32(message) == 0xFFFFFFFF {
		description = message[8:]
	}
	if _, err := checkMessage(description); err != nil {
		return nil, nil, err
	}
	in, err := ipc.NewReader(bytes.NewReader(message), ipc.WithAllocator(&Allowance{Left: len(message)}))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errFile, err)
	}
	defer in.Release()
	m := flat{data: description, left: len(description)}
	var ids []int64
	if at := m.at(0)(2); at != 0 {
		m.each(m.at(at)(1), func(t table) { ids = m.dictionaries(t, ids) })
	}
	if m.bad {
		return nil, nil, errFile
	}
	return in.Schema(), ids, nil
}

// schemaMessage puts the schema of a footer into a message of its own: a table of version,
// kind, header and length of the body, before the footer whose schema is the header.
func schemaMessage(footer flat, root table) []byte {
	const (
		prefix = 8  // mark and length
		fields = 4  // where the list of fields stands
		start  = 16 // the table
		before = 40 // bytes before the footer
		schema = 1  // the kind
	)
	out := make([]byte, prefix+before, prefix+before+len(footer.data)+8)
	m := out[prefix:]
	binary.LittleEndian.PutUint32(m, start)
	for i, v := range []uint16{12, 24, 4, 6, 8, 16} { // its own size, the table's, and where each field is
		binary.LittleEndian.PutUint16(m[fields+2*i:], v)
	}
	binary.LittleEndian.PutUint32(m[start:], start-fields)
	if at := root(0); at != 0 {
		binary.LittleEndian.PutUint16(m[start+4:], uint16(footer.u16(at))) //nolint:gosec // two bytes
	}
	m[start+6] = schema
	at := root(1)
	binary.LittleEndian.PutUint32(m[start+8:], uint32(before+at+footer.u32(at)-(start+8))) //nolint:gosec // within the footer
	out = append(out, footer.data...)
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

// blocks reads a vector of blocks, which lie before end.
func (f *flat) blocks(position int, end int64) []block {
	first, n := f.vector(position, 24)
	all := make([]block, 0, n)
	for i := range n {
		at := first + 24*i
		b := block{
			offset:      int64(f.u32(at)) | int64(f.u32(at+4))<<32,
			description: int64(f.u32(at + 8)),
			body:        int64(f.u32(at+16)) | int64(f.u32(at+20))<<32,
		}
		if b.offset < headBytes || b.description < 4 || b.body < 0 || b.offset > end || b.description > end-b.offset || b.body > end-b.offset-b.description {
			f.bad = true
			return nil
		}
		all = append(all, b)
	}
	return all
}

// message reads the description of a message, with the length before it, and checks it. A
// description of −1 bytes is as long as it says.
func message(r io.ReaderAt, at block, end int64) ([]byte, error) {
	head := make([]byte, 8)
	if _, err := r.ReadAt(head, at.offset); err != nil {
		return nil, noEOF(err)
	}
	prefix, size := int64(8), int64(binary.LittleEndian.Uint32(head[4:]))
	if binary.LittleEndian.Uint32(head) != 0xFFFFFFFF {
		prefix, size = 4, int64(binary.LittleEndian.Uint32(head))
	}
	most := at.description
	if most < 0 {
		most = end - at.offset
	}
	if size == 0 || size > most-prefix {
		return nil, errFile
	}
	text := make([]byte, prefix+size)
	if _, err := r.ReadAt(text, at.offset); err != nil {
		return nil, noEOF(err)
	}
	body, err := checkMessage(text[prefix:])
	if err != nil {
		return nil, err
	}
	if body > at.body {
		return nil, errFile
	}
	return text, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// rowsOf is what the description of a record batch says.
func rowsOf(message []byte) (int64, error) {
	if binary.LittleEndian.Uint32(message) == 0xFFFFFFFF {
		message = message[4:]
	}
	m := flat{data: message[4:], left: len(message)}
	root := m.at(0)
	if root(1) == 0 || m.u16(root(1))&0xFF != 3 || root(2) == 0 {
		return 0, errFile
	}
	batch := m.at(root(2))
	rows := int64(0)
	if at := batch(0); at != 0 {
		rows = int64(m.u32(at)) | int64(m.u32(at+4))<<32
	}
	if m.bad || rows < 0 {
		return 0, errFile
	}
	return rows, nil
}

// rowBytes is what a row takes in columns of one width.
func (f *File) rowBytes() int64 {
	bits := int64(0)
	for _, field := range f.Schema.Fields() {
		bits++ // whether there is a value
		if t, ok := field.Type.(arrow.FixedWidthDataType); ok {
			bits += int64(t.BitWidth())
		}
	}
	return min((bits+7)/8, unpackMost)
}

// Read reads a record batch, with the dictionaries of the file. The caller recovers from panics
// of the library, and releases the batch.
func (f *File) Read(r io.ReaderAt, batch Batch) (arrow.Record, error) {
	parts := []io.Reader{bytes.NewReader(f.schema)}
	stored := int64(0)
	for _, at := range append(append([]block{}, f.dictionaries...), batch.at) {
		end := at.offset + at.description
		text, err := message(r, at, end)
		if err != nil {
			return nil, err
		}
		parts = append(parts, bytes.NewReader(text), io.NewSectionReader(r, end, at.body))
		stored += at.body
	}
	room := &Allowance{Left: int(min(unpackMost, max(packedMost*stored, 2*f.rowBytes()*min(batch.Rows, unpackMost))) + stored + 1<<16)}
	in, err := ipc.NewReader(io.MultiReader(parts...), ipc.WithAllocator(room))
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
