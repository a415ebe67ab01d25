package lake

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// readAll reads the first row group within an allowance.
func readAll(t *testing.T, path string, pages int64) (rows int64, err error) {
	t.Helper()
	src, err := Open(t.Context(), Config{Paths: []string{path}, Pages: pages})
	fatal.If(t, err)
	_, err = pipelinetest.Each(t.Context(), src, 0, func(record arrow.Record) { rows += record.NumRows() })
	return rows, err
}

// What Overhead says is enough to read the pages, and what is far less is refused, by
// the page's own header or, where that does not show it, by what is in the page.
func TestAllowance(t *testing.T) {
	const rows = 1 << 19 // 4 MiB a column
	double := func(rng *rand.Rand) parquet.Value { return parquet.DoubleValue(rng.NormFloat64()) }
	rounded := func(rng *rand.Rand) parquet.Value { return parquet.DoubleValue(float64(rng.IntN(2000)) / 8) }
	written := 0
	late := func(rng *rand.Rand) parquet.Value { // nothing repeats in the first two megabytes
		if written++; (written-1)%rows < 1<<18 {
			return double(rng)
		}
		return rounded(rng)
	}
	leaf := parquet.Leaf(parquet.DoubleType)
	for name, c := range map[string]struct {
		node    parquet.Node
		codec   compress.Codec
		value   func(*rand.Rand) parquet.Value
		unseen  bool  // by Overhead
		refused int64 // bytes that are not enough
	}{
		"split and in snappy":          {parquet.Encoded(leaf, &parquet.ByteStreamSplit), &parquet.Snappy, double, false, 6 << 20},
		"split and in zstd":            {parquet.Encoded(leaf, &parquet.ByteStreamSplit), &parquet.Zstd, double, false, 6 << 20},
		"zstd":                         {leaf, &parquet.Zstd, rounded, false, 4 << 20},
		"brotli":                       {leaf, &parquet.Brotli, rounded, false, 4 << 20},
		"snappy from far":              {leaf, &parquet.Snappy, rounded, false, 4 << 20},
		"snappy from far, but not yet": {leaf, &parquet.Snappy, late, true, 4 << 20},
		"dictionary":                   {parquet.Encoded(leaf, &parquet.RLEDictionary), &parquet.Snappy, double, false, 4 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			path := onePage(t, rows, 2, c.node, c.codec, c.value)
			src, err := Open(t.Context(), Config{Paths: []string{path}})
			fatal.If(t, err)
			said, err := src.Overhead(t.Context(), 1)
			fatal.If(t, err)
			if c.unseen != (said < c.refused) {
				t.Errorf("Overhead says %d KiB", said>>10)
			}
			if n, err := readAll(t, path, said); (err != nil || n != rows) && !c.unseen {
				t.Errorf("with the %d KiB that Overhead says: %d rows, %v", said>>10, n, err)
			}
			if n, err := readAll(t, path, 0); err != nil || n != rows {
				t.Errorf("without a limit: %d rows, %v", n, err)
			}
			n, err := readAll(t, path, c.refused)
			if err == nil || !strings.Contains(err.Error(), "of memory to be read") || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "%!") {
				t.Errorf("with %d KiB: %d rows, %v", c.refused>>10, n, err)
			}
		})
	}
}
