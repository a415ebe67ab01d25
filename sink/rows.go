package sink

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// Rejected writes the rows that break a row rule as Parquet: their file or topic (in), row group or
// partition (part), row or offset (row), the first bad column that the reason names, and the reason. The group values has
// the row's columns as float64, null where a value is bad, but no texts. It is for one goroutine at a time.
type Rejected struct {
	w       *parquet.GenericWriter[any]
	columns []string
}

// NewRejectedRows starts a file. columns name the values of a row; texts are those whose values are hashes of texts.
func NewRejectedRows(w io.Writer, columns, texts []string) *Rejected {
	values := parquet.Group{}
	for _, name := range columns {
		if !slices.Contains(texts, name) {
			values[name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
		}
	}
	schema := parquet.NewSchema("rejected", parquet.Group{
		"in": parquet.String(), "part": parquet.Leaf(parquet.Int32Type), "row": parquet.Leaf(parquet.Int64Type),
		"column": parquet.String(), "reason": parquet.String(), "values": values,
	})
	return &Rejected{
		w:       parquet.NewGenericWriter[any](w, schema, parquet.CreatedBy("pacsgp", "1", ""), parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows)),
		columns: slices.Clone(columns),
	}
}

// Write appends a rejected row of a shard. It keeps no reference to it.
func (b *Rejected) Write(shard dataset.Shard, r dataset.RejectedRow) error {
	column, values := "", map[string]any{}
	for i, v := range r.Values {
		if name := b.columns[i]; finite(v) {
			values[name] = &v // the library takes a zero for null, unless it is behind a pointer
		} else if column == "" || strings.Contains(r.Reason, strconv.Quote(name)) && !strings.Contains(r.Reason, strconv.Quote(column)) {
			column = name
		}
	}
	_, err := b.w.Write([]any{map[string]any{
		"in": shard.Position.In, "part": int32(shard.Position.Part), "row": shard.Position.At + r.Row, //nolint:gosec // a row group's number
		"column": column, "reason": r.Reason, "values": values,
	}})
	return err
}

// Close writes the footer. It does not close the underlying writer.
func (b *Rejected) Close() error { return b.w.Close() }

// A subsetRow is a row of a [Split] file.
type subsetRow struct {
	File    string `parquet:"file,dict"`
	Row     int64  `parquet:"row,delta"`     // in the file
	Ordinal int64  `parquet:"ordinal,delta"` // in the dataset
	Subset  string `parquet:"subset,dict"`
}

// Split writes, as Parquet, which subset each row of a dataset belongs to. It must be closed.
type Split struct {
	w    *parquet.GenericWriter[subsetRow]
	rows int
}

// splitGroup is the number of rows in a row group.
const splitGroup = 1 << 20

// NewSplit starts a file.
func NewSplit(w io.Writer) *Split {
	return &Split{w: parquet.NewGenericWriter[subsetRow](w, parquet.CreatedBy("pacsgp", "1", ""), parquet.Compression(&parquet.Snappy))}
}

// Write writes the subset of a row.
func (s *Split) Write(at dataset.Position, ordinal int64, subset string) error {
	if s.rows++; s.rows%splitGroup == 0 {
		if err := s.w.Flush(); err != nil {
			return err
		}
	}
	_, err := s.w.Write([]subsetRow{{at.In, at.At, ordinal, subset}})
	return err
}

// Close writes the footer. It does not close the underlying writer.
func (s *Split) Close() error { return s.w.Close() }
