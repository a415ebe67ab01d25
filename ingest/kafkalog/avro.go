package kafkalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/pacsgp/pacsgp/ingest"
)

// An avroReader reads the values of records that are Avro.
type avroReader struct {
	columns  *jsonNode
	declared *avroType // of all records; nil: none is declared
	registry func(id uint32) (*avroType, error)
	own      string // schema of the last container, and its type
	ownType  *avroType

	names []string // of the columns
	row   []float64
	in    []byte
	depth int
	left  int // values that may still be visited
}

// avroValues bounds how many values without a byte of their own, such as nulls in a list, a
// record may claim.
const avroValues = 1 << 20

var errValues = fmt.Errorf("it claims more than %d values that have no bytes", avroValues)

var errAvro = errors.New("it is no Avro of its schema")

// read appends the rows of a record's value.
func (r *avroReader) read(value []byte, columns [][]float64) (rows int, err error) {
	switch {
	case r.registry != nil:
		if len(value) < 5 || value[0] != 0 {
			return 0, errors.New("it does not begin with the id of a schema in a registry (a zero and four bytes)")
		}
		t, err := r.registry(binary.BigEndian.Uint32(value[1:]))
		if err != nil {
			return 0, err
		}
		return r.one(t, value[5:], columns)
	case r.declared != nil:
		return r.one(r.declared, value, columns)
	default:
		return r.container(value, columns)
	}
}

// one reads a value that is one row.
func (r *avroReader) one(t *avroType, value []byte, columns [][]float64) (int, error) {
	r.in, r.left = value, avroValues+len(value)
	if err := r.rowOf(t, columns); err != nil {
		return 0, err
	}
	if len(r.in) > 0 {
		return 0, fmt.Errorf("%w: %d bytes behind the record", errAvro, len(r.in))
	}
	return 1, nil
}

// rowOf reads the next row of what is left.
func (r *avroReader) rowOf(t *avroType, columns [][]float64) error {
	for j := range r.row {
		r.row[j] = ingest.Null.Cell()
	}
	r.depth = 0
	if err := r.value(t); err != nil {
		return err
	}
	for j, v := range r.row {
		columns[j] = append(columns[j], v)
	}
	return nil
}

// value reads a value.
func (r *avroReader) value(t *avroType) error {
	if r.depth++; r.depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	defer func() { r.depth-- }()
	if r.left--; r.left < 0 {
		return errValues
	}
	switch t.kind {
	case avroNull: // as the row was before
		return nil
	case avroBoolean:
		b, err := r.take(1)
		if err != nil {
			return err
		}
		if b[0] > 1 {
			return errAvro
		}
		r.set(t, float64(b[0]))
		return nil
	case avroInt, avroLong:
		return r.integer(t)
	case avroFloat:
		b, err := r.take(4)
		if err == nil {
			r.set(t, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}
		return err
	case avroDouble:
		b, err := r.take(8)
		if err == nil {
			r.set(t, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		return err
	case avroEnum:
		_, err := r.long()
		return err
	case avroBytes, avroString, avroFixed:
		return r.bytes(t)
	case avroRecord:
		for _, part := range t.parts {
			if err := r.value(part); err != nil {
				return err
			}
		}
		return nil
	case avroUnion:
		n, err := r.long()
		if err != nil {
			return err
		}
		if n < 0 || n >= int64(len(t.parts)) {
			return errAvro
		}
		return r.value(t.parts[n])
	default:
		return r.list(t)
	}
}

// set makes a value that of its column, if it has one.
func (r *avroReader) set(t *avroType, v float64) {
	if t.column >= 0 {
		r.row[t.column] = v
	}
}

func (r *avroReader) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(r.in)) {
		return nil, fmt.Errorf("%w: it is cut off", errAvro)
	}
	b := r.in[:n]
	r.in = r.in[n:]
	return b, nil
}

func (r *avroReader) long() (int64, error) {
	v, n := binary.Varint(r.in)
	if n <= 0 {
		return 0, fmt.Errorf("%w: it is cut off", errAvro)
	}
	r.in = r.in[n:]
	return v, nil
}

func (r *avroReader) integer(t *avroType) error {
	v, err := r.long()
	if err != nil {
		return err
	}
	if t.kind == avroInt && int64(int32(v)) != v { //nolint:gosec // that is the question
		return errAvro
	}
	if t.column < 0 {
		return nil
	}
	switch {
	case t.inSecond:
		r.set(t, ingest.Seconds(v, t.digits))
	case t.days:
		r.set(t, float64(v*86400))
	case v > ingest.MaxInteger || v < -ingest.MaxInteger:
		r.set(t, ingest.TooLong.Cell())
	default:
		r.set(t, float64(v))
	}
	return nil
}

// bytes reads a text, bytes or a fixed: a number if they are a decimal, and a text if it is
// a point in time.
func (r *avroReader) bytes(t *avroType) error {
	n, err := int64(t.size), error(nil)
	if t.kind != avroFixed {
		if n, err = r.long(); err != nil {
			return err
		}
	}
	b, err := r.take(n)
	if err != nil || t.column < 0 {
		return err
	}
	switch {
	case t.decimal:
		r.set(t, decimalCell(b, t.digits))
	case t.kind == avroString:
		v, err := timeCell(string(b))
		if err != nil {
			return fmt.Errorf("column %q is %w", r.names[t.column], err)
		}
		r.set(t, v)
	default:
		return fmt.Errorf("column %q is bytes; numbers, booleans and times are read", r.names[t.column])
	}
	return nil
}

// decimalCell is the number of a big-endian integer with so many decimal places.
func decimalCell(b []byte, digits int) float64 {
	if len(b) == 0 {
		return 0
	}
	v := int64(int8(b[0])) //nolint:gosec // its sign
	for _, c := range b[1:] {
		if v > ingest.MaxInteger>>8 || v < -(ingest.MaxInteger>>8)-1 {
			return ingest.TooLong.Cell()
		}
		v = v<<8 | int64(c)
	}
	return ingest.Decimal(v, digits)
}

// list reads an array or a map, of which nothing is a column. Blocks that say their bytes
// are passed over.
func (r *avroReader) list(t *avroType) error {
	for {
		n, err := r.long()
		if err != nil || n == 0 {
			return err
		}
		if n < 0 {
			size, err := r.long()
			if err == nil {
				_, err = r.take(size)
			}
			if err != nil {
				return err
			}
			if r.left--; r.left < 0 {
				return errValues
			}
			continue
		}
		if n > int64(r.left) {
			return errValues
		}
		for range n {
			if t.kind == avroMap {
				size, err := r.long()
				if err == nil {
					_, err = r.take(size)
				}
				if err != nil {
					return err
				}
			}
			if err := r.value(t.parts[0]); err != nil {
				return err
			}
		}
	}
}
