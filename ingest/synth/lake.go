package synth

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/pacsgp/pacsgp/internal/durable"
)

const (
	// rowGroup is the largest number of rows in a row group.
	rowGroup = 65536
	// chunkRows is how many rows are made at a time.
	chunkRows = 1024
)

// WriteLake writes rows [first, first+rows) of the source as Parquet files in dir: part-00.parquet
// and so on, files of them. Their lengths differ by at most one row. They are compressed with zstd
// and have page checksums. WriteLake makes dir, and replaces existing files atomically.
func (g *Generator) WriteLake(ctx context.Context, dir string, files int, first, rows int64) error {
	if files < 1 || first < 0 || rows < int64(files) {
		return fmt.Errorf("synth: %d rows from row %d on in %d files", rows, first, files)
	}
	if err := (durable.OS{}).MkdirAll(dir); err != nil {
		return fmt.Errorf("synth: %w", err)
	}
	digits := max(2, len(fmt.Sprint(files-1)))
	begin := first
	for i := range files {
		next := begin + rows/int64(files)*int64(i+1) + rows%int64(files)*int64(i+1)/int64(files) // no product of rows overflows
		path := filepath.Join(dir, fmt.Sprintf("part-%0*d.parquet", digits, i))
		err := durable.Write(durable.OS{}, path, func(f *durable.Pending) error { return g.writeRows(ctx, f, first, next-first) })
		if err != nil {
			return fmt.Errorf("synth: %s: %w", path, err)
		}
		first = next
	}
	return nil
}

func (g *Generator) writeRows(ctx context.Context, f io.Writer, first, rows int64) error {
	fields := parquet.Group{} // sorts its columns by name, as Columns does
	for _, name := range g.Columns() {
		fields[name] = parquet.Leaf(parquet.DoubleType)
	}
	w := parquet.NewGenericWriter[any](f, parquet.NewSchema("synth", fields), parquet.Compression(&zstd.Codec{}))
	var values []parquet.Value
	for done := int64(0); done < rows; {
		if err := ctx.Err(); err != nil {
			return err
		}
		left := min(rowGroup-done%rowGroup, rows-done)
		columns := g.Rows(first+done, int(min(chunkRows, left)))
		for j, c := range w.ColumnWriters() {
			values = values[:0]
			for _, v := range columns[j] {
				values = append(values, parquet.DoubleValue(v).Level(0, 0, j))
			}
			if _, err := c.WriteRowValues(values); err != nil {
				return err
			}
		}
		done += int64(len(columns[0]))
		if done%rowGroup == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return w.Close()
}
