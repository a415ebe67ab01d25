package arrowipc

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	flatbuffers "github.com/google/flatbuffers/go"
)

// Magic begins and ends an Arrow IPC file.
const Magic = "ARROW1"

const (
	tailBytes = 10 // length of the footer, then the magic
	headBytes = 8  // the magic, then two zeros
	// maxFooter bounds a footer, in bytes. A record batch needs 24.
	maxFooter = 64 << 20
	// An unpacked record batch may have up to the larger of packedMost times its stored bytes and twice the size of
	// its rows, but at most unpackMost bytes. Equal values are stored in almost no bytes.
	packedMost = 1 << 10
	unpackMost = 1 << 30
)

// A File is the footer of an Arrow IPC file (Feather 2).
type File struct {
	Schema  *arrow.Schema
	Batches []Batch
	Sum     [sha256.Size]byte // SHA-256 of the stored footer

	dictionaries []block

	size   int64
	footer []byte // with decimals of 32 and 64 bits changed to bytes; nil if there are none
}

// A Batch is the position and size of a record batch.
type Batch struct {
	Rows  int64
	Bytes int64 // stored size

	at    block
	index int
}

// A block is the position of a message: offset, and bytes of its description and its body.
type block struct{ offset, description, body int64 }

// ErrDamaged says that a file is no whole Arrow file.
var ErrDamaged = errors.New("the Arrow file is damaged, or was not written to its end")

// Open reads the footer of a file of size bytes. If rows is true, it also reads the number of rows
// of each record batch.
func Open(r io.ReaderAt, size int64, rows bool) (f *File, err error) {
	defer func() { // libraries panic on some damaged files
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	footer, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	f = &File{Sum: sha256.Sum256(footer), size: size}
	root, end := rootOf(footer), size-tailBytes-int64(len(footer))
	schema, ok := below(root, 1)
	if _, good := columns(schema); !ok || !good || !readable(root) {
		return nil, ErrDamaged
	}
	if sha256.Sum256(footer) != f.Sum {
		f.footer = footer
	}
	dictionaries, good := blocks(root, 2, end)
	batches, ok := blocks(root, 3, end)
	if !good || !ok {
		return nil, ErrDamaged
	}
	if err := apart(dictionaries, batches); err != nil {
		return nil, err
	}
	f.dictionaries = dictionaries
	stored := int64(0)
	for _, at := range dictionaries {
		if _, err := descriptionAt(r, at, headerDictionary); err != nil {
			return nil, err
		}
		stored += at.description + at.body
	}
	for i, at := range batches {
		b := Batch{at: at, index: i, Bytes: at.description + at.body}
		if rows {
			d, err := descriptionAt(r, at, headerBatch)
			if err != nil {
				return nil, err
			}
			b.Rows = d.rows
		}
		f.Batches = append(f.Batches, b)
	}
	// This is the schema in the footer, which readers of files use. The one at the head, for
	// readers of streams, is not read: polars writes it without its prefix.
	file, err := f.reader(r, f.room(stored, 0))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	f.Schema = file.Schema()
	return f, f.nameDecimals(schema)
}

// nameDecimals gives columns of decimals of 32 and 64 bits their own type instead of bytes.
func (f *File) nameDecimals(schema flatbuffers.Table) error {
	at, n, _ := vector(schema, 1, 4)
	all := f.Schema.Fields()
	if n != len(all) {
		return ErrDamaged
	}
	for i := range all {
		child := flatbuffers.Table{Bytes: schema.Bytes, Pos: schema.Indirect(at + flatbuffers.UOffsetT(4*i))}
		if kind, ok := below(child, 3); ok && child.GetUint8Slot(slot(2), 0) == typeBytes && narrow(kind) > 0 {
			all[i].Type = &decimals{arrow.FixedSizeBinaryType{ByteWidth: int(narrow(kind) / 8)}}
		}
	}
	metadata := f.Schema.Metadata()
	f.Schema = arrow.NewSchema(all, &metadata)
	return nil
}

// decimals is the type of decimals that the library reads as bytes.
type decimals struct{ arrow.FixedSizeBinaryType }

func (d *decimals) String() string { return fmt.Sprintf("decimal%d", 8*d.ByteWidth) }

// overlaid is a file with its footer replaced by one of the same length; nil means the stored one.
type overlaid struct {
	*io.SectionReader
	footer []byte
}

// ReadAt reads the replaced footer, which the library reads in one call, or other bytes.
func (o overlaid) ReadAt(b []byte, at int64) (int, error) {
	if len(b) == len(o.footer) && at == o.Size()-tailBytes-int64(len(b)) {
		return copy(b, o.footer), nil
	}
	return o.SectionReader.ReadAt(b, at)
}

func (f *File) reader(r io.ReaderAt, room *allowance) (*ipc.FileReader, error) {
	return ipc.NewFileReader(overlaid{io.NewSectionReader(r, 0, f.size), f.footer}, ipc.WithAllocator(room))
}

// room returns an allowance for stored bytes, and unpacked bytes of fixed-width values.
func (f *File) room(stored, unpacked int64) *allowance {
	return &allowance{left: int(min(unpackMost, max(packedMost*stored, unpacked)) + 2*stored + 1<<16)}
}

// apart returns an error if two blocks share a byte: otherwise a footer of a few bytes could repeat
// a record batch any number of times.
func apart(dictionaries, batches []block) error {
	all := slices.Concat(dictionaries, batches)
	slices.SortFunc(all, func(a, b block) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(all); i++ {
		if before := all[i-1]; all[i].offset < before.offset+before.description+before.body {
			return fmt.Errorf("%w: two of its record batches share bytes, from %d on", ErrDamaged, all[i].offset)
		}
	}
	return nil
}

func readFooter(r io.ReaderAt, size int64) ([]byte, error) {
	if size < headBytes+tailBytes {
		return nil, ErrDamaged
	}
	tail := make([]byte, tailBytes)
	if _, err := r.ReadAt(tail, size-tailBytes); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != Magic || n > maxFooter || n > size-headBytes-tailBytes {
		return nil, ErrDamaged
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-tailBytes-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return footer, nil
}

// blocks returns the positions of messages in a field of the footer; false unless all are before end.
func blocks(root flatbuffers.Table, field int, end int64) ([]block, bool) {
	at, n, ok := vector(root, field, 24)
	if !ok {
		return nil, false
	}
	found := make([]block, n)
	for i := range found {
		position := at + flatbuffers.UOffsetT(24*i)
		b := block{root.GetInt64(position), int64(root.GetInt32(position + 8)), root.GetInt64(position + 16)}
		if b.offset < headBytes || b.description < 8 || b.body < 0 || b.offset > end || b.description > end-b.offset || b.body > end-b.offset-b.description {
			return nil, false
		}
		found[i] = b
	}
	return found, true
}

// descriptionAt reads the description of a message. It must have this kind.
func descriptionAt(r io.ReaderAt, at block, kind byte) (description, error) {
	text := make([]byte, at.description)
	if _, err := r.ReadAt(text, at.offset); errors.Is(err, io.EOF) {
		return description{}, io.ErrUnexpectedEOF
	} else if err != nil {
		return description{}, err
	}
	if binary.LittleEndian.Uint32(text) == 0xFFFFFFFF { // older writers leave this out
		text = text[4:]
	}
	length, text := binary.LittleEndian.Uint32(text), text[4:]
	d, err := describe(text)
	if err == nil && (d.kind != kind || d.body != at.body || int64(length) > int64(len(text))) {
		err = ErrDamaged
	}
	return d, err
}

// rowBytes returns the bytes of one row in the columns of fixed width.
func (f *File) rowBytes() int64 {
	bits := int64(0)
	for _, field := range f.Schema.Fields() {
		bits++ // for the validity bitmap
		if t, ok := field.Type.(arrow.FixedWidthDataType); ok {
			bits += int64(t.BitWidth())
		}
	}
	return min((bits+7)/8, unpackMost)
}

// Read reads a record batch, with the dictionaries of the file. The caller must recover from panics
// of the library, and release the record.
func (f *File) Read(r io.ReaderAt, batch Batch) (arrow.Record, error) {
	d, err := descriptionAt(r, batch.at, headerBatch)
	if err != nil {
		return nil, err
	}
	if d.rows != batch.Rows {
		return nil, fmt.Errorf("%w: a record batch has %d rows, and had %d", ErrDamaged, d.rows, batch.Rows)
	}
	room := f.room(batch.Bytes, 2*f.rowBytes()*min(batch.Rows, unpackMost))
	allowed := int64(room.left)
	found, err := f.read(r, batch.index, room)
	switch {
	case err != nil && room.exceeded:
		return nil, fmt.Errorf("unpacked it is too large: a record batch may have %d MiB (hint: write batches of fewer rows): %w", unpackMost>>20, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	for _, column := range found.Columns() {
		if err := held(column); err != nil {
			found.Release()
			return nil, err
		}
	}
	if err := f.checksums(r, batch, allowed); err != nil {
		found.Release()
		return nil, err
	}
	return found, nil
}

func (f *File) read(r io.ReaderAt, index int, room *allowance) (found arrow.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			found, err = nil, fmt.Errorf("%v", p)
		}
	}()
	file, err := f.reader(r, room)
	if err != nil {
		return nil, err
	}
	return file.RecordAt(index)
}
