package lake

import (
	"context"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
)

// Nulls is what the footers say about the nulls of a used column.
type Nulls struct {
	Column    string `json:"column"`
	Count     int64  `json:"count"`
	Uncounted int64  `json:"uncounted_rows"` // rows of row groups whose footer does not count them
}

// Nulls adds up, for each used column, what the footers say. It reads them
// again, but no row. NaN is not counted: it is no null in Parquet.
func (s *Source) Nulls(ctx context.Context) ([]Nulls, error) {
	sums := make([]Nulls, len(s.columns))
	for j, name := range s.columns {
		sums[j].Column = name
	}
	var file *dataFile
	var foot *footer
	for _, sh := range s.shards {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if sh.file != file {
			var err error
			if foot, err = s.footerAgain(sh.file); err != nil {
				return nil, fmt.Errorf("lake: %s: %w", sh.file.path, err)
			}
			file = sh.file
		}
		for j := range sums {
			if err := sums[j].add(file, foot, sh.group); err != nil {
				return nil, fmt.Errorf("lake: %s, row group %d, column %q: %w", file.path, sh.group.index, sums[j].Column, err)
			}
		}
	}
	return sums, nil
}

// footerAgain opens a file for its footer alone.
func (s *Source) footerAgain(f *dataFile) (*footer, error) {
	file, size, err := openFile(f.path)
	if err != nil {
		return nil, err
	}
	foot, err := s.cache.footer(f, file, size)
	return foot, errors.Join(err, file.Close())
}

// add takes in a row group.
func (n *Nulls) add(file *dataFile, foot *footer, g group) error {
	c := file.column(n.Column)
	if c.leaf < 0 {
		if ingest.FaultOf(file.key(n.Column)) == ingest.Null {
			n.Count += g.rows
		}
		return nil
	}
	ch, err := foot.chunk(g.index, c)
	if err != nil {
		return err
	}
	n.Count += ch.nulls
	if c.optional && !tells(&foot.groups[g.index].Columns[c.leaf].MetaData.Statistics) {
		n.Uncounted += g.rows
	}
	return nil
}

// tells reports whether there are statistics at all. The library's decoder gives
// a count of 0 also where there is none.
func tells(s *format.Statistics) bool {
	return s.NullCount > 0 || s.MinValue != nil || s.MaxValue != nil || s.Min != nil || s.Max != nil
}
