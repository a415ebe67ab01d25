package sink

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A subsetRow is a row of the file.
type subsetRow struct {
	File    string `parquet:"file,dict"`
	Row     int64  `parquet:"row,delta"`     // in the file
	Ordinal int64  `parquet:"ordinal,delta"` // in the sample
	Subset  string `parquet:"subset,dict"`
}

// Split writes the subset of each row as a row of Parquet. It must be closed.
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
func (s *Split) Write(r pipeline.RowSubset) error {
	if s.rows++; s.rows%splitGroup == 0 {
		if err := s.w.Flush(); err != nil {
			return err
		}
	}
	_, err := s.w.Write([]subsetRow{subsetRow(r)})
	return err
}

// Close writes the footer. It does not close the writer beneath.
func (s *Split) Close() error { return s.w.Close() }
