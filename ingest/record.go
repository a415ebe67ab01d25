package ingest

import (
	"math"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Records makes the record batches of a source: a float64 column for each used column, and for marked rows
// [ReasonColumn]. Releasing a batch returns its buffers to a pool. Records may be used by several goroutines.
type Records struct {
	schema *arrow.Schema
	names  []string
	mark   bool
	filled []bool // columns whose faults make no row bad
	mem    *pool
}

// NewRecords prepares batches of the named columns, of which some may have missing values.
func NewRecords(names []string, mark bool, encoded job.Encodings) *Records {
	fields := make([]arrow.Field, 0, len(names)+1)
	for _, name := range names {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float64})
	}
	if mark {
		fields = append(fields, arrow.Field{Name: ReasonColumn, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	filled := make([]bool, len(names))
	for j, name := range names {
		filled[j] = encoded.Fills(name)
	}
	return &Records{
		filled: filled,
		schema: arrow.NewSchema(fields, nil),
		names:  names,
		mark:   mark,
		mem:    new(pool),
	}
}

// A Block has the columns of an unfinished batch, each as long as the batch has rows.
// [Records.New] makes it a record; Drop frees it.
type Block struct {
	Columns [][]float64
	buffers []*memory.Buffer
}

// Block returns a block of so many rows, with arbitrary values.
func (r *Records) Block(rows int) *Block {
	b := &Block{Columns: make([][]float64, len(r.names)), buffers: make([]*memory.Buffer, len(r.names))}
	for j := range r.names {
		buf := memory.NewResizableBuffer(r.mem)
		buf.Resize(arrow.Float64Traits.BytesRequired(rows))
		b.buffers[j] = buf
		b.Columns[j] = arrow.Float64Traits.CastFromBytes(buf.Bytes())
	}
	return b
}

// Drop frees an unused block.
func (b *Block) Drop() {
	for _, buf := range b.buffers {
		buf.Release()
	}
	b.buffers, b.Columns = nil, nil
}

// Bad are the rows of a block with a fault, ascending, and the first fault of the first of them with its column.
func (r *Records) Bad(b *Block) (bad []int, column int, fault Fault) {
	for i := range b.Columns[0] {
		for j, c := range b.Columns {
			if f := r.fault(j, c[i]); f != None {
				if bad == nil {
					column, fault = j, f
				}
				bad = append(bad, i)
				break
			}
		}
	}
	return bad, column, fault
}

// fault is that of a cell of column j; None if another value stands for missing ones.
func (r *Records) fault(j int, v float64) Fault {
	if r.filled[j] {
		return None
	}
	return FaultOf(v)
}

// New wraps the block as a record, which then owns its memory. bad are its rows of [Records.Bad], empty unless they are
// to be marked. known, if not nil, has the reasons that the source has of them; for "" their cells tell it.
func (r *Records) New(b *Block, bad []int, known func(row int) string) arrow.Record {
	rows := 0
	if len(b.Columns) > 0 {
		rows = len(b.Columns[0])
	}
	columns := make([]arrow.Array, 0, len(b.Columns)+1)
	var reasons arrow.Array
	if r.mark {
		reasons = r.reasons(b, rows, bad, known)
	}
	r.wipe(b, bad)
	for _, buf := range b.buffers {
		data := array.NewData(arrow.PrimitiveTypes.Float64, rows, []*memory.Buffer{nil, buf}, nil, 0, 0)
		columns = append(columns, array.NewFloat64Data(data))
		data.Release()
		buf.Release()
	}
	if r.mark {
		columns = append(columns, reasons)
	}
	record := array.NewRecord(r.schema, columns, int64(rows))
	for _, c := range columns {
		c.Release()
	}
	return record
}

func (r *Records) reasons(b *Block, rows int, bad []int, known func(row int) string) arrow.Array {
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	defer builder.Release()
	builder.Reserve(rows)
	for i := range rows {
		if len(bad) == 0 || i < bad[0] {
			builder.AppendNull()
			continue
		}
		bad = bad[1:]
		text := ""
		if known != nil {
			text = known(i)
		}
		if text == "" {
			text = r.reason(b.Columns, i)
		}
		builder.Append(text)
	}
	return builder.NewArray()
}

// wipe puts the usual NaN into all bad and all missing cells.
func (r *Records) wipe(b *Block, bad []int) {
	for j, c := range b.Columns {
		if r.filled[j] {
			for i, v := range c {
				if FaultOf(v) != None {
					c[i] = math.NaN()
				}
			}
			continue
		}
		for _, i := range bad {
			if FaultOf(c[i]) != None {
				c[i] = math.NaN()
			}
		}
	}
}

// reason describes the faults of all bad cells in row i.
func (r *Records) reason(columns [][]float64, i int) string {
	var words []string
	for j, c := range columns {
		if f := r.fault(j, c[i]); f != None {
			words = append(words, r.names[j]+" "+f.String())
		}
	}
	return strings.Join(words, "; ")
}

// pool is an allocator that keeps freed buffers for reuse.
type pool struct {
	memory.GoAllocator
	free sync.Pool // of *[]byte
}

// Allocate returns a buffer of the given size with arbitrary bytes.
func (p *pool) Allocate(size int) []byte {
	if kept, ok := p.free.Get().(*[]byte); ok {
		if cap(*kept) >= size {
			return (*kept)[:size]
		}
	}
	return p.GoAllocator.Allocate(size)
}

// Free keeps b for a later Allocate.
func (p *pool) Free(b []byte) {
	if cap(b) > 0 {
		p.free.Put(&b)
	}
}
