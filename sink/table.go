package sink

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// A tableRow is one inducing point in a model file: its coordinates, its whitened mean, and its
// rows of L and of the factor of S up to the diagonal.
type tableRow struct {
	Z    []float64 `parquet:"z,list"`
	Mean float64   `parquet:"mean"`
	L    []float64 `parquet:"l,list"`
	S    []float64 `parquet:"s,list"`
}

// A table has the numbers of a model file, as dense row-major matrices.
type table struct {
	m, d int
	z    []float64 // [m×d]
	mean []float64 // [m]
	l    []float64 // [m×m], lower
	s    []float64 // [m×m], lower
}

func newTable(m, d int) table {
	return table{m, d, make([]float64, m*d), make([]float64, m), make([]float64, m*m), make([]float64, m*m)}
}

// A column is one of the four columns; row(i) returns the values of row i.
type column struct {
	name string
	list bool
	row  func(i int) []float64
}

// columns returns the columns in the order of the schema.
func (t table) columns() []column {
	return []column{
		{"z", true, func(i int) []float64 { return t.z[i*t.d : (i+1)*t.d] }},
		{"mean", false, func(i int) []float64 { return t.mean[i : i+1] }},
		{"l", true, func(i int) []float64 { return t.l[i*t.m : i*t.m+i+1] }},
		{"s", true, func(i int) []float64 { return t.s[i*t.m : i*t.m+i+1] }},
	}
}

// tableBytes returns the size of the numbers of m inducing points in d dimensions.
func tableBytes(m, d int) int64 {
	rows := int64(m)
	return 8 * (rows*int64(d) + rows + rows*(rows+1))
}

const (
	// groupValues is the number of values that closes a row group. It bounds the writer's
	// buffers; it counts values, so that the bytes of the file depend on the model alone.
	groupValues = 1 << 20
	// pageBytes is the size at which a page is closed.
	pageBytes = 1 << 20
)

// writeTable writes a model file, neither compressed nor encoded: the numbers are noise to
// every codec, the size of the file bounds the size of the table, and each page carries its
// CRC.
func writeTable(w io.Writer, metadata string, t table) error {
	pw := parquet.NewGenericWriter[tableRow](w,
		parquet.CreatedBy("pacsgp", "1", ""),
		parquet.Compression(&parquet.Uncompressed),
		parquet.DataPageVersion(1),
		parquet.DataPageStatistics(false),
		parquet.PageBufferSize(pageBytes),
		parquet.KeyValueMetadata(metadataKey, metadata),
		parquet.KeyValueMetadata(sealKey, strings.Repeat("0", sealDigits)),
	)
	writers, columns := pw.ColumnWriters(), t.columns()
	values := make([]parquet.Value, 0, max(t.m, t.d))
	buffered := 0
	for i := range t.m {
		for c, col := range columns {
			values = values[:0]
			for j, v := range col.row(i) {
				values = append(values, listValue(v, j, c, col.list))
			}
			if _, err := writers[c].WriteRowValues(values); err != nil {
				return err
			}
			buffered += len(values)
		}
		if buffered >= groupValues {
			buffered = 0
			if err := pw.Flush(); err != nil {
				return err
			}
		}
	}
	return pw.Close()
}

// listValue returns element j of a list, or the one value of a plain column.
func listValue(v float64, j, column int, list bool) parquet.Value {
	repetition, definition := 0, 0
	if list {
		repetition, definition = min(j, 1), 1
	}
	return parquet.DoubleValue(v).Level(repetition, definition, column)
}

// readTable reads the numbers of a model file of m rows in d dimensions. The caller has checked
// m, d and tableBytes(m, d) against the size of the file.
func readTable(f *tableFile, m, d int) (table, error) {
	if f.rows != int64(m) {
		return table{}, fmt.Errorf("it has %d rows, and its metadata says %d inducing points", f.rows, m)
	}
	t := newTable(m, d)
	for c, col := range t.columns() {
		fill := filler{column: col, rows: m, row: -1}
		if err := f.pages(c, col.list, col.list, fill.page); err != nil {
			return table{}, fmt.Errorf("column %s: %w", col.name, err)
		}
		if fill.row != m-1 || len(fill.rest) != 0 {
			return table{}, fmt.Errorf("column %s: it ends inside row %d of %d", col.name, fill.row, m)
		}
	}
	return t, nil
}

// A filler puts the values of a column into its rows, in order.
type filler struct {
	column
	rows int
	row  int       // the current row; −1 before the first
	rest []float64 // its values that are still to be filled
}

// page adds the values of a page. Null or empty lists are errors, so that each level has a number.
func (f *filler) page(p page) error {
	values, err := p.doubles()
	if err != nil || !f.list {
		return errors.Join(err, f.add(values, nil))
	}
	definition, err := levels(p.definition, len(values))
	if err != nil {
		return err
	}
	if slices.Contains(definition, 0) {
		return errors.New("a list is null or empty, or an element is null")
	}
	repetition, err := levels(p.repetition, len(values))
	if err != nil {
		return err
	}
	return f.add(values, repetition)
}

// add puts values into the rows. A repetition level of 0 begins a row.
func (f *filler) add(values []float64, repetition []byte) error {
	for i, v := range values {
		if !f.list || repetition[i] == 0 {
			if len(f.rest) > 0 {
				return fmt.Errorf("row %d is %d values too short", f.row, len(f.rest))
			}
			if f.row++; f.row >= f.rows {
				return fmt.Errorf("more than %d rows", f.rows)
			}
			f.rest = f.column.row(f.row)
		}
		if len(f.rest) == 0 {
			return fmt.Errorf("row %d has more than its %d values", f.row, len(f.column.row(max(f.row, 0))))
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("row %d: %v is no finite number", f.row, v)
		}
		f.rest[0], f.rest = v, f.rest[1:]
	}
	return nil
}
