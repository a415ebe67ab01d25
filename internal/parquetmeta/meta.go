// Package parquetmeta reads footers and page headers of Parquet files. The files may come from
// anyone: a structure without its required fields is an error at once, so memory is at most a small
// multiple of the bytes. Byte slices in results are parts of the footer.
package parquetmeta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// A File is a FileMetaData of the Parquet format.
type File struct {
	Rows      int64      `field:"3!"`
	Schema    []Element  `field:"2!"`
	Groups    []RowGroup `field:"4!"`
	Keys      []KeyValue `field:"5"`
	Writer    []byte     `field:"6"`
	Orders    []Order    `field:"7"` // for each column
	Encrypted bool       // the footer is signed
}

// A KeyValue is one entry of a file's metadata for readers.
type KeyValue struct {
	Key   []byte `field:"1!"`
	Value []byte `field:"2"`
}

// An Order is a ColumnOrder of the Parquet format.
type Order struct{ Known bool } // whether it is declared

// An Element is a SchemaElement of the Parquet format.
type Element struct {
	Name       string                   `field:"4!"`
	Physical   format.Type              `field:"1"` // −1 if it is a group
	Length     int32                    `field:"2"`
	Repetition int32                    `field:"3"` // −1 if it is missing
	Children   int32                    `field:"5"`
	Converted  deprecated.ConvertedType `field:"6"` // −1 if there is none
	Scale      int32                    `field:"7"`
	Precision  int32                    `field:"8"`
	Logical    Logical                  `field:"10"`
	_          int32                    `field:"9"`
	Odd        int16                    // number of an unknown field; 0 if there is none
}

// A Logical is a LogicalType of the Parquet format.
type Logical struct {
	Kind      int16 `field:"*"` // number of the field in the union; 0 if there is none
	UTC       bool  `field:"7.1 8.1"`
	Unit      int16 `field:"7.2.* 8.2.*"` // of a time or timestamp: number of the field in TimeUnit
	Bits      int8  `field:"10.1"`
	Signed    bool  `field:"10.2"`
	Scale     int32 `field:"5.1"`
	Precision int32 `field:"5.2"`
}

// Field numbers of LogicalType and TimeUnit.
const (
	LogicalNone      = 0
	LogicalString    = 1
	LogicalMap       = 2
	LogicalList      = 3
	LogicalEnum      = 4
	LogicalDecimal   = 5
	LogicalDate      = 6
	LogicalTime      = 7
	LogicalTimestamp = 8
	LogicalInteger   = 10
	LogicalNull      = 11
	LogicalJSON      = 12
	LogicalBSON      = 13
	LogicalUUID      = 14
	LogicalFloat16   = 15

	UnitMillis = 1
	UnitMicros = 2
	UnitNanos  = 3
)

// A RowGroup has the same rows of each column.
type RowGroup struct {
	Rows   int64   `field:"3!"`
	Chunks []Chunk `field:"1!"`
}

// A Chunk is a ColumnChunk with its ColumnMetaData.
type Chunk struct {
	File         []byte                  `field:"1"` // the file with the pages, if it is another one
	Encrypted    bool                    // so that its description may be missing
	Physical     format.Type             `field:"3.1!"`
	_            []format.Encoding       `field:"3.2!"` // encodings, of which pages say their own
	Path         [][]byte                `field:"3.3!"`
	Codec        format.CompressionCodec `field:"3.4!"`
	Values       int64                   `field:"3.5!"`
	Uncompressed int64                   `field:"3.6!"`
	Compressed   int64                   `field:"3.7!"`
	Data         int64                   `field:"3.9!"` // offset of the first data page
	Dictionary   int64                   `field:"3.11"` // offset of the dictionary page; 0 if there is none
	Stats        Statistics              `field:"3.12"`
}

// Statistics are the statistics of a chunk. Inexact bounds are still valid bounds.
type Statistics struct {
	Max      []byte `field:"1"` // deprecated, as Min: compared as signed integers
	Min      []byte `field:"2"`
	Nulls    int64  `field:"3"`
	MaxValue []byte `field:"5"`
	MinValue []byte `field:"6"`
	ExactMax bool   `field:"7"` // true unless the file denies it
	ExactMin bool   `field:"8"`
	Counted  bool   // Nulls is known
}

const (
	// Magic begins and ends a Parquet file.
	Magic = "PAR1"
	// TailLength is the size of the footer's length and the magic after it.
	TailLength = 8

	magicEncrypted = "PARE"
)

// Footer returns the footer of a file of size bytes. It must have at most limit bytes.
func Footer(r io.ReaderAt, size, limit int64) ([]byte, error) {
	if size < int64(len(Magic))+TailLength {
		return nil, fmt.Errorf("%d bytes are too few for a Parquet file; was it written to its end?", size)
	}
	var tail [TailLength]byte
	if _, err := r.ReadAt(tail[:], size-TailLength); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case Magic:
	case magicEncrypted:
		return nil, errors.New("the file is encrypted, which is not read; decrypt it first")
	default:
		return nil, errors.New("the file does not end like a Parquet file: if it is one, it was not written to its end; rows in CSV, JSON or an Arrow stream have to be written as Parquet")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-TailLength-int64(len(Magic)) {
		return nil, fmt.Errorf("the footer claims %d bytes of a file of %d: %w", length, size, ErrMalformed)
	}
	if length > limit {
		return nil, fmt.Errorf("the footer has %d bytes, at most %d are read; write fewer row groups to a file", length, limit)
	}
	b := make([]byte, length)
	if _, err := r.ReadAt(b, size-TailLength-length); err != nil {
		return nil, err
	}
	return b, nil
}

// Read decodes a footer, and returns the number of bytes that it used.
func Read(b []byte) (*File, int, error) {
	m := new(File)
	n, err := read(m, fileShape, b)
	return m, n, err
}

var (
	fileShape = shapeOf(reflect.TypeFor[File]())
	pageShape = shapeOf(reflect.TypeFor[PageHeader]())
)

func (f *File) check(has set, _ int16) error {
	f.Encrypted = has.has(8)
	leaves := 0
	for i := range f.Schema {
		if f.Schema[i].Physical >= 0 {
			leaves++
		}
	}
	for i := range f.Groups {
		if n := len(f.Groups[i].Chunks); n != leaves {
			return malformed("a row group has %d columns, the schema %d", n, leaves)
		}
	}
	return nil
}

func (o *Order) check(has set, _ int16) error { //nolint:unparam // as a checker
	o.Known = has.has(1)
	return nil
}

// check checks an element. Unknown fields may change the meaning of its column.
func (e *Element) check(has set, unknown int16) error {
	e.Odd = unknown
	for _, f := range [...]struct {
		id   int
		is   *int32
		most int32
	}{
		{1, (*int32)(&e.Physical), int32(format.FixedLenByteArray)},
		{3, &e.Repetition, int32(format.Repeated)},
		{6, (*int32)(&e.Converted), math.MaxInt32},
	} {
		if !has.has(f.id) {
			*f.is = -1
		} else if *f.is < 0 || *f.is > f.most {
			return malformed("a column with %d in field %d", *f.is, f.id)
		}
	}
	return nil
}

func (l *Logical) check(_ set, unknown int16) error {
	if unknown != 0 && l.Kind <= LogicalFloat16 { // later types are not read
		return malformed("a logical type %d with field %d", l.Kind, unknown)
	}
	return nil
}

func (c *Chunk) check(has set, _ int16) error {
	c.Encrypted = has.has(8) || has.has(9)
	if !has.has(3) && !c.Encrypted {
		return malformed("a chunk without a description")
	}
	return nil
}

func (s *Statistics) check(has set, _ int16) error { //nolint:unparam // as a checker
	s.Counted = has.has(3)
	s.ExactMax, s.ExactMin = s.ExactMax || !has.has(7), s.ExactMin || !has.has(8)
	return nil
}

// A PageHeader is a PageHeader of the format, with the header of its kind of page.
type PageHeader struct {
	Kind         format.PageType `field:"1!"`
	Uncompressed int32           `field:"2!"`
	Compressed   int32           `field:"3!"`
	Sum          int32           `field:"4"`
	Checked      bool            // there is a sum

	Values   int32           `field:"5.1! 7.1! 8.1!"`
	Encoding format.Encoding `field:"5.2! 7.2! 8.4!"`
	// In version 1, the encodings of levels:
	DefinitionLevels format.Encoding `field:"5.3!"`
	RepetitionLevels format.Encoding `field:"5.4"`
	// In version 2:
	Nulls      int32 `field:"8.2!"`
	Rows       int32 `field:"8.3!"`
	Definition int32 `field:"8.5!"` // size of the levels, in bytes
	Repetition int32 `field:"8.6!"`
	Packed     bool  `field:"8.7"` // the values are compressed by the codec of the chunk
}

func (h *PageHeader) check(has set, _ int16) error {
	h.Checked = has.has(4)
	of := map[format.PageType]set{format.DataPage: 1 << 5, format.DictionaryPage: 1 << 7, format.DataPageV2: 1 << 8}[h.Kind]
	if has&(1<<5|1<<7|1<<8) != of {
		return malformed("a page of kind %d without its header, or with that of another kind", h.Kind)
	}
	return nil
}

// ReadPageHeader decodes the header at the start of b, and returns its length. If the error wraps
// [ErrShort], more bytes may help.
func ReadPageHeader(b []byte) (PageHeader, int, error) {
	h := PageHeader{Packed: true}
	n, err := read(&h, pageShape, b)
	return h, n, err
}
