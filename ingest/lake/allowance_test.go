package lake

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// readAll reads the first row group within an allowance.
func readAll(t *testing.T, path string, pages int64) (rows int64, err error) {
	t.Helper()
	src, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Pages: pages}})
	fatal.If(t, err)
	_, err = pipelinetest.Each(t.Context(), src, 0, func(record arrow.Record) { rows += record.NumRows() })
	return rows, err
}

// onePage writes a file of a row group whose chunks are a page each, as fastparquet
// does by default, and returns its path.
func onePage(t *testing.T, rows, columns int, node parquet.Node, codec compress.Codec, value func(rng *rand.Rand) parquet.Value) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "one-page.parquet")
	f, err := os.Create(path)
	fatal.If(t, err)
	group := parquet.Group{}
	for j := range columns {
		group[fmt.Sprintf("c%04d", j)] = node
	}
	depth := 0
	if node.Optional() {
		depth = 1
	}
	w := parquet.NewGenericWriter[any](f, parquet.NewSchema("pages", group), parquet.Compression(codec), parquet.PageBufferSize(16*rows))
	rng := rand.New(rand.NewPCG(7, 8))
	values := make([]parquet.Value, rows)
	for j, cw := range w.ColumnWriters() {
		if j < 8 { // others are the same
			for i := range values {
				values[i] = value(rng).Level(0, depth, j)
			}
		} else {
			for i := range values {
				values[i] = values[i].Level(0, depth, j)
			}
		}
		_, err := cw.WriteRowValues(values)
		fatal.If(t, err)
	}
	fatal.If(t, errors.Join(w.Flush(), w.Close(), f.Close()))
	return path
}

// Memory stays within what is reserved of the allowance, in all encodings and codecs, and what is far less is refused: by
// the page's own header or, where that does not show it, by what is in the page.
func TestMemoryOfLargePages(t *testing.T) {
	double := func(rng *rand.Rand) parquet.Value { return parquet.DoubleValue(rng.NormFloat64()) }
	rounded := func(rng *rand.Rand) parquet.Value { return parquet.DoubleValue(float64(rng.IntN(2000)) / 8) }
	long := func(rng *rand.Rand) parquet.Value { return parquet.Int64Value(rng.Int64N(1 << 50)) }
	leaf := parquet.Leaf(parquet.DoubleType)
	const rows, columns = 1 << 19, 2 // 4 MiB a page
	written := 0
	late := func(rng *rand.Rand) parquet.Value { // nothing repeats in the first two megabytes
		if written++; (written-1)%rows < 1<<18 {
			return double(rng)
		}
		return rounded(rng)
	}
	for name, c := range map[string]struct {
		node    parquet.Node
		codec   compress.Codec
		value   func(*rand.Rand) parquet.Value
		refused int64 // bytes that are not enough
	}{
		"plain":                        {leaf, &parquet.Uncompressed, double, 4 << 20},
		"plain optional":               {parquet.Optional(leaf), &parquet.Uncompressed, double, 4 << 20},
		"snappy":                       {leaf, &parquet.Snappy, double, 4 << 20},
		"snappy from far":              {leaf, &parquet.Snappy, rounded, 4 << 20},
		"snappy from far, but not yet": {leaf, &parquet.Snappy, late, 4 << 20},
		"snappy optional":              {parquet.Optional(leaf), &parquet.Snappy, double, 4 << 20},
		"gzip":                         {leaf, &parquet.Gzip, rounded, 4 << 20},
		"zstd":                         {leaf, &parquet.Zstd, rounded, 4 << 20},
		"brotli":                       {leaf, &parquet.Brotli, rounded, 4 << 20},
		"integers":                     {parquet.Leaf(parquet.Int64Type), &parquet.Uncompressed, long, 4 << 20},
		"delta":                        {parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked), &parquet.Snappy, long, 4 << 20},
		"dictionary":                   {parquet.Encoded(leaf, &parquet.RLEDictionary), &parquet.Snappy, rounded, 2 << 20},
		"dictionary, plain":            {parquet.Encoded(leaf, &parquet.RLEDictionary), &parquet.Uncompressed, rounded, 2 << 20},
		"split":                        {parquet.Encoded(leaf, &parquet.ByteStreamSplit), &parquet.Uncompressed, double, 6 << 20},
		"split and in snappy":          {parquet.Encoded(leaf, &parquet.ByteStreamSplit), &parquet.Snappy, double, 6 << 20},
		"split and in zstd":            {parquet.Encoded(leaf, &parquet.ByteStreamSplit), &parquet.Zstd, double, 6 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			path := onePage(t, rows, columns, c.node, c.codec, c.value)
			src, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Pages: 64 << 20}})
			fatal.If(t, err)
			b, err := src.Open(t.Context(), 0)
			fatal.If(t, err)
			before, got := allocated(), int64(0)
			for record, err := b.Next(t.Context()); !errors.Is(err, io.EOF); record, err = b.Next(t.Context()) {
				fatal.If(t, err)
				got += record.NumRows()
				record.Release()
			}
			used, held := int64(allocated()-before), b.(*batches).tools.pages.held.Load()
			fatal.If(t, b.Close())
			const batches = 4 * 8 * mostBatchRows * columns
			dropped := int64(0) // what is allocated and not kept
			if c.codec == &parquet.Brotli {
				dropped = held / 2 // its ring grows by doubling
			}
			if got != rows {
				t.Errorf("%d of %d rows", got, rows)
			}
			if !testing.Short() && used > held+batches+dropped { // the race detector adds to it
				t.Errorf("%d KiB were allocated, %d KiB reserved", used>>10, held>>10)
			}
			n, err := readAll(t, path, c.refused)
			if err == nil || !strings.Contains(err.Error(), "of memory to be read") || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "%!") {
				t.Errorf("with %d KiB: %d rows, %v", c.refused>>10, n, err)
			}
		})
	}
}
