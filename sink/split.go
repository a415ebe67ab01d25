package sink

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A roleRow is a row of the file.
type roleRow struct {
	File    string `parquet:"file,dict"`
	Row     int64  `parquet:"row,delta"`     // in the file
	Ordinal int64  `parquet:"ordinal,delta"` // in the sample
	Role    string `parquet:"role,dict"`
}

// Split writes the role of each row as a row of Parquet. It must be closed.
type Split struct {
	w    *parquet.GenericWriter[roleRow]
	rows int
}

// splitGroup is the number of rows in a row group.
const splitGroup = 1 << 20

// NewSplit starts a file.
func NewSplit(w io.Writer) *Split {
	return &Split{w: parquet.NewGenericWriter[roleRow](w, parquet.CreatedBy("pacsgp", "1", ""), parquet.Compression(&parquet.Snappy))}
}

// Write writes the role of a row.
func (s *Split) Write(r pipeline.PlacedRole) error {
	if s.rows++; s.rows%splitGroup == 0 {
		if err := s.w.Flush(); err != nil {
			return err
		}
	}
	_, err := s.w.Write([]roleRow{roleRow(r)})
	return err
}

// Close writes the footer. It does not close the writer beneath.
func (s *Split) Close() error { return s.w.Close() }
