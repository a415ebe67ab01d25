package lake

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/arrowipc"
)

// startArrow reads the record batch of an Arrow file, whose columns have no cursors.
func (b *batches) startArrow(in *arrowipc.File) error {
	// Stored and unpacked: packed columns of numbers have about a quarter of their size.
	err := b.tools.pages.reserve(5 * b.shard.group.batch.Bytes)
	if err == nil {
		err = guard(func() (err error) {
			b.record, err = in.Read(b.file, b.shard.group.batch)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("%s, record batch %d: %w", b.shard.file.Path, b.shard.group.index, err)
	}
	return b.columns(func(j int, col *column) error {
		next, err := arrowReader(b.record.Column(col.leaf), b.shard.group.rows, ingest.Null.Cell(), func(dst []float64, from *decoded, at int) {
			col.plain(dst, from.fixed[at*max(col.width, 1):])
		})
		b.next[j] = func(dst []float64) (bool, error) {
			err := next(dst)
			_, _, finite := ingest.Check(dst)
			return finite, err
		}
		return err
	})
}

// storedArray returns a function that reads the next stored values of a column of a record batch.
func storedArray(values arrow.Array, col *column, rows int64) (func(dst []parquet.Value) error, error) {
	next, err := arrowReader(values, rows, parquet.Value{}, col.stored)
	if col.kind != kindTimestamp || col.digits > 0 {
		return next, err
	}
	return func(dst []parquet.Value) error { // of seconds, which Parquet has not
		err := next(dst)
		for i, v := range dst {
			if seconds := v.Int64(); seconds > math.MaxInt64/1000 || seconds < math.MinInt64/1000 {
				return cmp.Or(err, fmt.Errorf("a time of %d s has no number of milliseconds", seconds))
			}
			if !v.IsNull() {
				dst[i] = parquet.Int64Value(1000 * v.Int64())
			}
		}
		return err
	}, err
}

// tableValues bounds the values of a dictionary that are made once, and not for each row.
const tableValues = 1 << 20

// arrowReader returns a function that makes the next values of a column of a record batch, or of its
// dictionary, as a walker does of pages.
func arrowReader[V any](column arrow.Array, rows int64, null V, values func(dst []V, from *decoded, at int)) (next func(dst []V) error, err error) {
	if int64(column.Len()) != rows {
		return nil, fmt.Errorf("%d values for %d rows: %w", column.Len(), rows, errMalformed)
	}
	source, row := column, 0
	coded, isCoded := column.(*array.Dictionary)
	if isCoded {
		source = coded.Dictionary()
	}
	var from decoded
	read := func(dst []V, at int) {
		values(dst, &from, at)
		for i := 0; source.NullN() > 0 && i < len(dst); i++ {
			if source.IsNull(at + i) {
				dst[i] = null
			}
		}
	}
	var table []V
	err = guard(func() error {
		from = arrowPlain(source)
		if isCoded && source.Len() <= tableValues {
			table = make([]V, source.Len())
			read(table, 0)
		}
		return arrowipc.Nulls(column)
	})
	return func(dst []V) error {
		at := row
		if row += len(dst); !isCoded {
			read(dst, at)
			return nil
		}
		for i := range dst {
			switch k := coded.GetValueIndex(at + i); {
			case column.IsNull(at + i):
				dst[i] = null
			case k >= 0 && k < len(table):
				dst[i] = table[k]
			case k < 0 || k >= source.Len():
				return fmt.Errorf("a dictionary of %d values has none of number %d", source.Len(), k)
			default:
				read(dst[i:i+1], k)
			}
		}
		return nil
	}, err
}

// arrowPlain returns the values of an array as a page of the type of arrowElement has them, with any for
// nulls. It panics on damage.
func arrowPlain(values arrow.Array) (from decoded) {
	data := values.Data()
	n, first, buffers := data.Len(), data.Offset(), data.Buffers()
	if n == 0 {
		return from
	}
	bytes := func(buffer int) []byte {
		if b := buffers[buffer]; b != nil {
			return b.Bytes()
		}
		return nil
	}
	switch a := values.(type) {
	case *array.Boolean:
		from.fixed = make([]byte, n)
		for i := range from.fixed {
			if a.Value(i) {
				from.fixed[i] = 1
			}
		}
	case *array.Int8:
		from.fixed = widened(a.Int8Values())
	case *array.Int16:
		from.fixed = widened(a.Int16Values())
	case *array.Uint8:
		from.fixed = widened(a.Uint8Values())
	case *array.Uint16:
		from.fixed = widened(a.Uint16Values())
	case *array.Decimal128:
		for _, v := range a.Values() {
			from.fixed = binary.BigEndian.AppendUint64(from.fixed, uint64(v.HighBits()))
			from.fixed = binary.BigEndian.AppendUint64(from.fixed, v.LowBits())
		}
	case *array.String, *array.Binary:
		from.texts, from.offsets = bytes(2), arrow.Uint32Traits.CastFromBytes(bytes(1))[first:][:n+1]
	case *array.LargeString, *array.LargeBinary:
		from.texts = bytes(2)
		for _, at := range arrow.Int64Traits.CastFromBytes(bytes(1))[first:][:n+1] {
			from.offsets = append(from.offsets, uint32(len(from.texts[:at])))
		}
	default:
		width := values.DataType().(arrow.FixedWidthDataType).Bytes()
		from.fixed = bytes(1)[first*width:][:n*width]
	}
	return from
}

// widened has the 32 bits of integers of fewer.
func widened[T int8 | int16 | uint8 | uint16](values []T) []byte {
	wide := make([]byte, 0, 4*len(values))
	for _, v := range values {
		wide = binary.LittleEndian.AppendUint32(wide, uint32(v))
	}
	return wide
}
