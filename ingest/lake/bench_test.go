package lake_test

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// benchCase is a file to read: 10 columns of doubles, half of them Gaussian,
// half rounded to 0.01, in eight row groups of 100,000 rows.
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
	{name: "gzip", codec: &parquet.Gzip},
	{name: "snappy-dictionary-optional", codec: &parquet.Snappy, optional: true, rounded: true},
}

const benchColumns = 10

// benchFile returns the path of a case's file. With PACSGP_BENCH_DIR it is kept
// there, <case>.parquet, for other programs to read; one that is there is used.
func benchFile(b *testing.B, c benchCase) string {
	b.Helper()
	dir := os.Getenv("PACSGP_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	path := filepath.Join(dir, c.name+".parquet")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		writeBench(b, path+".part", c)
		fatal.If(b, os.Rename(path+".part", path))
	}
	return path
}

// writeBench writes a case's file, with pages of 1 MiB, as most writers make
// them.
func writeBench(b *testing.B, path string, c benchCase) {
	f, err := os.Create(path)
	fatal.If(b, err)
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
	values := make([]parquet.Value, 100_000)
	if testing.Short() {
		values = values[:10_000]
	}
	for range 8 {
		for j, cw := range w.ColumnWriters() {
			for i := range values {
				v := rng.NormFloat64()
				if c.rounded || j%2 == 1 {
					v = math.Round(v*100) / 100
				}
				values[i] = parquet.DoubleValue(v).Level(0, depth, j)
			}
			_, err := cw.WriteRowValues(values)
			fatal.If(b, err)
		}
		fatal.If(b, w.Flush())
	}
	fatal.If(b, errors.Join(w.Close(), f.Close()))
}

// rawPages reads all pages with parquet-go and hands them to use.
func rawPages(b *testing.B, path string, use func(parquet.Page)) {
	f, err := os.Open(path)
	fatal.If(b, err)
	defer f.Close()
	info, err := f.Stat()
	fatal.If(b, err)
	file, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<20))
	fatal.If(b, err)
	for _, g := range file.RowGroups() {
		for _, c := range g.ColumnChunks() {
			pages := c.Pages()
			for {
				page, err := pages.ReadPage()
				if errors.Is(err, io.EOF) {
					break
				}
				fatal.If(b, err)
				use(page)
				parquet.Release(page)
			}
			fatal.If(b, pages.Close())
		}
	}
}

// valuesOf returns a function that puts the values of parquet-go's pages, none
// of them null, into one array: the least that a reader built on its pages does.
// (A page of a dictionary comes as indexes, which rawPages alone leaves as they
// are.)
func valuesOf(b *testing.B) func(parquet.Page) {
	var values []float64
	return func(page parquet.Page) {
		n := int(page.NumValues())
		if page.NumNulls() > 0 {
			b.Fatal("nulls in a benchmark's file")
		}
		values = slices.Grow(values[:0], n)[:n]
		data := page.Data()
		if page.Dictionary() == nil {
			copy(values, data.Double())
			return
		}
		entries := page.Dictionary().Page().Data()
		table := entries.Double()
		for i, x := range data.Int32() {
			values[i] = table[x]
		}
	}
}

// readShards reads all rows of a source.
func readShards(b *testing.B, src dataset.Source) {
	_, err := readAll(b, src)
	fatal.If(b, err)
}

// A candidate is one way to read a benchmark's file.
type candidate struct {
	metric string
	read   func()
	times  []time.Duration
}

// median returns the median of the times in seconds.
func (c *candidate) median() float64 {
	slices.Sort(c.times)
	return c.times[len(c.times)/2].Seconds()
}

// alternate lets the candidates read one after another, after one reading for the buffers and
// the page cache, and reports their rates in MB/s of decoded float64: medians.
func alternate(b *testing.B, src *lake.Source, candidates ...*candidate) {
	for _, c := range candidates {
		c.read()
	}
	for b.Loop() {
		for _, c := range candidates {
			start := time.Now()
			c.read()
			c.times = append(c.times, time.Since(start))
		}
	}
	megabytes := float64(8*benchColumns*src.Files()[0].Rows) / 1e6
	for _, c := range candidates {
		b.ReportMetric(megabytes/c.median(), c.metric)
	}
	b.ReportMetric(0, "ns/op") // of all of them together: says nothing
}

func openBench(b *testing.B, path string, digests bool) *lake.Source {
	src, err := lake.Open(b.Context(), lake.Config{Paths: []string{path}, NoDigests: !digests})
	fatal.If(b, err)
	return src
}

// BenchmarkDecode reads Parquet into float64 batches, every value checked, in
// alternation with parquet-go, all on one core:
//
//	MB/s               ours, without digests
//	digest-MB/s        ours, with digests
//	raw-MB/s           parquet-go's pages, read and not decoded
//	values-MB/s        parquet-go's pages, their values put into an array, unchecked
//	of-raw, of-values  MB/s as a multiple of these, and of-raw-with-digests
func BenchmarkDecode(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) { benchDecode(b, benchFile(b, c)) })
	}
}

func benchDecode(b *testing.B, path string) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	plain, digested, put := openBench(b, path, false), openBench(b, path, true), valuesOf(b)
	ours := candidate{metric: "MB/s", read: func() { readShards(b, plain) }}
	digest := candidate{metric: "digest-MB/s", read: func() { readShards(b, digested) }}
	raw := candidate{metric: "raw-MB/s", read: func() { rawPages(b, path, func(parquet.Page) {}) }}
	values := candidate{metric: "values-MB/s", read: func() { rawPages(b, path, put) }}
	alternate(b, plain, &raw, &ours, &values, &digest)
	b.ReportMetric(raw.median()/ours.median(), "of-raw")
	b.ReportMetric(values.median()/ours.median(), "of-values")
	b.ReportMetric(raw.median()/digest.median(), "of-raw-with-digests")
}
