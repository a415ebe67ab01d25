package lake_test

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
)

// benchCase is a file to read: 10 columns of doubles, half of them Gaussian,
// half rounded to 0.01, in row groups of 100,000 rows.
type benchCase struct {
	name     string
	codec    compress.Codec
	optional bool
	rounded  bool // all columns rounded, dictionary encoded
}

var benchCases = []benchCase{
	{name: "none", codec: &parquet.Uncompressed},
	{name: "snappy", codec: &parquet.Snappy},
	{name: "zstd", codec: &parquet.Zstd},
	{name: "snappy-dictionary-optional", codec: &parquet.Snappy, optional: true, rounded: true},
}

const (
	benchColumns = 10
	benchGroup   = 100_000
)

// benchFile writes a file of two row groups, with pages of 1 MiB, as most
// writers make them.
func benchFile(b *testing.B, c benchCase) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), c.name+".parquet")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	node := parquet.Leaf(parquet.DoubleType)
	if c.rounded {
		node = parquet.Encoded(node, &parquet.RLEDictionary)
	}
	depth := 0
	if c.optional {
		node, depth = parquet.Optional(node), 1
	}
	group := parquet.Group{}
	for j := range benchColumns {
		group[string(rune('a'+j))] = node
	}
	w := parquet.NewGenericWriter[any](f, parquet.NewSchema("bench", group), parquet.Compression(c.codec), parquet.PageBufferSize(1<<20))
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]parquet.Value, benchGroup)
	for range 2 {
		for j, cw := range w.ColumnWriters() {
			for i := range values {
				v := rng.NormFloat64()
				if c.rounded || j%2 == 1 {
					v = math.Round(v*100) / 100
				}
				values[i] = parquet.DoubleValue(v).Level(0, depth, j)
			}
			if _, err := cw.WriteRowValues(values); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		b.Fatal(err)
	}
	return path
}

// rawPages reads all pages with parquet-go and does nothing with them.
func rawPages(b *testing.B, path string) {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	file, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<20))
	if err != nil {
		b.Fatal(err)
	}
	for _, g := range file.RowGroups() {
		for _, c := range g.ColumnChunks() {
			pages := c.Pages()
			for {
				page, err := pages.ReadPage()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				parquet.Release(page)
			}
			if err := pages.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// allBatches reads all rows of a source.
func allBatches(b *testing.B, src pipeline.Source) {
	for i := range src.Shards() {
		r, err := src.Open(b.Context(), i)
		if err != nil {
			b.Fatal(err)
		}
		for {
			record, err := r.Next(b.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			record.Release()
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode reads Parquet into float64 batches, checked, with and without
// digests. "of-raw" is the speed relative to parquet-go's pages read in the same
// run, turn by turn, without doing anything with their values.
func BenchmarkDecode(b *testing.B) {
	for _, c := range benchCases {
		for _, digests := range []bool{false, true} {
			name := c.name
			if digests {
				name += "-digest"
			}
			b.Run(name, func(b *testing.B) {
				path := benchFile(b, c)
				src, err := lake.Open(b.Context(), lake.Config{Paths: []string{path}, Features: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, Target: "j", NoDigests: !digests})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(8 * benchColumns * 2 * benchGroup)
				b.ReportAllocs()
				var raw time.Duration
				for b.Loop() {
					b.StopTimer()
					start := time.Now()
					rawPages(b, path)
					raw += time.Since(start)
					b.StartTimer()
					allBatches(b, src)
				}
				b.ReportMetric(raw.Seconds()/b.Elapsed().Seconds(), "of-raw")
			})
		}
	}
}
