package arrowipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal256"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// twoBatches is a file of two record batches with the columns first, second and word, which
// has a dictionary, as its field in nested has.
func twoBatches(t testing.TB) []byte {
	t.Helper()
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	fields := []arrow.Field{
		{Name: "first", Type: arrow.PrimitiveTypes.Float64},
		{Name: "second", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "word", Type: words},
		{Name: "nested", Type: arrow.StructOf(arrow.Field{Name: "inner", Type: words})},
	}
	return written(t, fields, 2, func(i int, b *array.RecordBuilder) {
		b.Field(0).(*array.Float64Builder).Append(float64(i))
		b.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(i))
		nested := b.Field(3).(*array.StructBuilder)
		nested.Append(true)
		for _, d := range []array.Builder{b.Field(2), nested.FieldBuilder(0)} {
			fatal.If(t, d.(*array.BinaryDictionaryBuilder).AppendString("a"))
		}
	})
}

// written is a file of so many record batches, each of which fill has filled.
func written(t testing.TB, fields []arrow.Field, batches int, fill func(i int, b *array.RecordBuilder), options ...ipc.Option) []byte {
	t.Helper()
	file, schema := &seekable{}, arrow.NewSchema(fields, nil)
	w, err := ipc.NewFileWriter(file, append(options, ipc.WithSchema(schema))...)
	fatal.If(t, err)
	for i := range batches {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
		fill(i, b)
		fatal.If(t, w.Write(b.NewRecord()))
	}
	fatal.If(t, w.Close())
	return file.data
}

// seekable is a file in memory, as the writer wants one.
type seekable struct{ data []byte }

func (s *seekable) Write(b []byte) (int, error) {
	s.data = append(s.data, b...)
	return len(b), nil
}

func (s *seekable) Seek(int64, int) (int64, error) { return int64(len(s.data)), nil }

func open(data []byte) (*File, error) {
	return Open(bytes.NewReader(data), int64(len(data)), true)
}

// Readers of files take the schema of the footer; the one at the head may have another form, as that
// of polars has.
func TestSchemaIsThatOfTheFooter(t *testing.T) {
	data := twoBatches(t)
	f, err := open(data)
	fatal.If(t, err)
	if len(f.Batches) != 2 || f.Schema.NumFields() != 4 {
		t.Fatalf("%d record batches of %v", len(f.Batches), f.Schema)
	}
	for _, batch := range f.Batches {
		r, err := f.Read(bytes.NewReader(data), batch)
		fatal.If(t, err)
		r.Release()
	}
	copy(data[headBytes:], make([]byte, 8))
	if other, err := open(data); err != nil || !other.Schema.Equal(f.Schema) {
		t.Errorf("without the prefix at the head: %v", err)
	}
}

// A record batch that the footer names twice would be as many rows as somebody likes.
func TestBlocksMustNotShareBytes(t *testing.T) {
	data := twoBatches(t)
	f, err := open(data)
	fatal.If(t, err)
	encoded := func(b block) []byte {
		var out []byte
		for _, v := range []int64{b.offset, b.description, b.body} {
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		}
		return out
	}
	at := bytes.LastIndex(data, encoded(f.Batches[1].at))
	if at < 0 {
		t.Fatal("the footer has no such block")
	}
	copy(data[at:], encoded(f.Batches[0].at))
	if _, err := open(data); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "share bytes") {
		t.Errorf("error %v", err)
	}
}

// What pyarrow does not read is not read either, also where the library does not need it.
func TestDescriptionsMustFit(t *testing.T) {
	data := twoBatches(t)
	f, err := open(data)
	fatal.If(t, err)
	start := int(f.Batches[0].at.offset)
	m := rootOf(data[start+8:])
	batch, _ := below(m, 2)
	buffers, _, _ := vector(batch, 2, 16)
	for name, at := range map[string]int{"length": 6, "version": 8 + int(m.Pos) + int(m.Offset(slot(0))), "buffer's offset": 24 + int(buffers), "buffer's length": 34 + int(buffers)} {
		damaged := bytes.Clone(data)
		damaged[start+at] += 4
		if _, err := open(damaged); err == nil {
			t.Errorf("another %s is no error", name)
		}
	}
}

// Equal values are packed thousands of times smaller, and are read; more than their rows
// take is not believed.
func TestEqualValues(t *testing.T) {
	const rows = 1 << 20
	data := written(t, []arrow.Field{{Name: "zero", Type: arrow.PrimitiveTypes.Float64}}, 1, func(_ int, b *array.RecordBuilder) {
		b.Field(0).(*array.Float64Builder).AppendValues(make([]float64, rows), nil)
	}, ipc.WithZstd())
	f, err := open(data)
	fatal.If(t, err)
	batch := f.Batches[0]
	if batch.Bytes*2048 > 8*rows {
		t.Fatalf("%d rows in %d bytes: the test wants fewer", rows, batch.Bytes)
	}
	r, err := f.Read(bytes.NewReader(data), batch)
	fatal.If(t, err)
	r.Release()
	d, err := descriptionAt(bytes.NewReader(data), batch.at, headerBatch)
	fatal.If(t, err)
	packed := d.packed[len(d.packed)-1]
	data[batch.at.offset+batch.at.description+packed.offset+packed.body-1] ^= 1 // its checksum
	if _, err := f.Read(bytes.NewReader(data), batch); !errors.Is(err, ErrDamaged) {
		t.Errorf("a wrong checksum: %v", err)
	}
	batch.Rows = rows / 64 // as another description would say
	if _, err := f.Read(bytes.NewReader(data), batch); err == nil || !strings.Contains(err.Error(), "and had 16384") {
		t.Errorf("a record batch of other rows: %v", err)
	}
}

// The library knows no decimals of 32 and 64 bits; other columns of their files are read.
func TestDecimalsThatTheLibraryLacks(t *testing.T) {
	wide := &arrow.Decimal256Type{Precision: 7, Scale: 1}
	fields := []arrow.Field{{Name: "price", Type: wide}, {Name: "x", Type: arrow.PrimitiveTypes.Float64}, {Name: "code", Type: &arrow.FixedSizeBinaryType{ByteWidth: 4}}}
	file := written(t, fields, 1, func(_ int, b *array.RecordBuilder) {
		b.Field(0).(*array.Decimal256Builder).Append(decimal256.FromI64(15))
		b.Field(1).(*array.Float64Builder).Append(2.5)
		b.Field(2).(*array.FixedSizeBinaryBuilder).Append([]byte("code"))
	})
	for _, bits := range []int32{32, 64} {
		data := bytes.Clone(file)
		size := int(binary.LittleEndian.Uint32(data[len(data)-tailBytes:]))
		footer, _ := below(rootOf(data[len(data)-tailBytes-size:]), 1)
		at, _, _ := vector(footer, 1, 4)
		column := flatbuffers.Table{Bytes: footer.Bytes, Pos: footer.Indirect(at)}
		kind, _ := below(column, 3)
		kind.MutateInt32Slot(slot(2), bits)
		f, err := open(data)
		fatal.If(t, err)
		if got := fmt.Sprint(f.Schema.Field(0).Type, f.Schema.Field(2).Type); got != fmt.Sprintf("decimal%d fixed_size_binary[4]", bits) {
			t.Errorf("the columns are %s", got)
		}
		r, err := f.Read(bytes.NewReader(data), f.Batches[0])
		fatal.If(t, err)
		if got := r.Column(1).(*array.Float64).Value(0); got != 2.5 {
			t.Errorf("with %d bits: %v", bits, got)
		}
		r.Release()
	}
}
