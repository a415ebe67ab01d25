package lake_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// damage returns a copy with one bit flipped (half of them near the end, where
// the footer is), cut off, or with a run of zeros.
func damage(rng *rand.Rand, whole []byte) (damaged []byte, what string) {
	b := slices.Clone(whole)
	switch rng.IntN(4) {
	case 0:
		at := rng.IntN(len(b))
		b[at] ^= 1 << rng.IntN(8)
		return b, fmt.Sprintf("bit of byte %d flipped", at)
	case 1:
		at := len(b) - 1 - rng.IntN(min(2000, len(b)))
		b[at] ^= 1 << rng.IntN(8)
		return b, fmt.Sprintf("bit of byte %d flipped", at)
	case 2:
		n := rng.IntN(len(b))
		return b[:n], fmt.Sprintf("cut to %d bytes", n)
	default:
		at := rng.IntN(len(b))
		end := min(at+1+rng.IntN(64), len(b))
		clear(b[at:end])
		return b, fmt.Sprintf("bytes %d to %d zeroed", at, end)
	}
}

// damagedWriters are the files of the collection whose damage is tried, one
// for each way of decoding.
var damagedWriters = []string{
	"pyarrow-none", "pyarrow-snappy", "pyarrow-zstd", "pyarrow-gzip", "pyarrow-brotli", "pyarrow-plain",
	"pyarrow-bytestreamsplit", "pyarrow-smallpages", "pyarrow-checksum", "pyarrow-decimal-fixed", "pyarrow-time-int96",
	"duckdb-v2", "parquetmr-10-optional-snappy", "parquetmr-20-optional-zstd", "fastparquet-GZIP", "polars-zstd",
}

// Damaged between two readings, a file is refused or has the digest that it had;
// damaged before the first reading, it is refused or has another one, unless
// its values are the same. Nothing panics, nothing allocates beyond reason.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	g, err := synth.New(synth.Config{Seed: 3, Noise: 0.1})
	fatal.If(t, err)
	fatal.If(t, g.WriteLake(t.Context(), dir, 1, 0, 3000))
	t.Run("synth", func(t *testing.T) {
		testDamage(t, filepath.Join(dir, "part-00.parquet"), lake.Config{Choice: dataset.Choice{Target: "y"}}, 500)
	})
	for _, name := range damagedWriters {
		t.Run(name, func(t *testing.T) {
			cfg := lake.Config{Choice: dataset.Choice{Target: writersTarget, Features: []string{"temp", "hour", "time"}}}
			testDamage(t, writersData("same", name+".parquet"), cfg, 120)
		})
	}
}

func testDamage(t *testing.T, path string, cfg lake.Config, duplicates int) {
	whole, err := os.ReadFile(path)
	fatal.If(t, err)
	victim := filepath.Join(t.TempDir(), "victim.parquet")
	cfg.Paths = []string{victim}
	write := func(b []byte) {
		fatal.If(t, os.WriteFile(victim, b, 0o600))
	}
	write(whole)
	src := open(t, cfg)
	want, err := readAll(t, src)
	fatal.If(t, err)
	cfg.Decoders = 3 * len(src.Shards())
	shared, err := lake.Open(t.Context(), cfg)
	fatal.If(t, err)
	rng := rand.New(rand.NewPCG(1, uint64(len(whole))))
	var refused, same, changed int
	for range duplicates {
		b, what := damage(rng, whole)
		write(b)
		n := allocated.By(func() {
			got, err := readAll(t, src) // the source was opened before the damage
			if other, second := readAll(t, shared); !slices.Equal(other, got) || fmt.Sprint(second) != fmt.Sprint(err) {
				t.Errorf("%s: three decoders read %v and %v, one %v and %v", what, other, second, got, err)
			}
			switch {
			case err != nil:
				refused++
			case slices.Equal(got, want):
				same++
			default:
				changed++                                                                                         // the digest tells
				if name := filepath.Base(path); name == "part-00.parquet" || name == "pyarrow-checksum.parquet" { // all pages have one
					t.Errorf("%s: read with another digest, though pages have checksums", what)
				}
			}
			if fresh, err := lake.Open(t.Context(), cfg); err == nil {
				if _, err := readAll(t, fresh); err == nil && fresh.Shards()[0].Rows != src.Shards()[0].Rows {
					t.Errorf("%s: %d rows, want %d or an error", what, fresh.Shards()[0].Rows, src.Shards()[0].Rows)
				}
			}
		})
		if n > 64<<20 {
			t.Errorf("%s: %d MiB were allocated for a file of %d bytes", what, n>>20, len(whole))
		}
	}
	t.Logf("%d duplicates: %d refused, %d with the same digest, %d with another", duplicates, refused, same, changed)
}

// A large page of doubles that is stored as it is is read in pieces: its checksum is compared with the
// last one, or before a value that no file should have.
func TestPagesInPieces(t *testing.T) {
	values := make([]float64, 30_000)
	for i := range values {
		values[i] = float64(i) / 7
	}
	for _, version := range []int{1, 2} {
		for depth, node := range []parquet.Node{parquet.Leaf(parquet.DoubleType), parquet.Optional(parquet.Leaf(parquet.DoubleType))} {
			var file bytes.Buffer
			w := parquet.NewGenericWriter[any](&file, parquet.NewSchema("pieces", parquet.Group{"x": node, "y": node}), parquet.PageBufferSize(1<<18), parquet.DataPageVersion(version))
			for _, v := range values {
				for j, column := range w.ColumnWriters() {
					_, err := column.WriteRowValues([]parquet.Value{parquet.DoubleValue(v).Level(0, depth, j)})
					fatal.If(t, err)
				}
			}
			fatal.If(t, w.Close())
			path := filepath.Join(t.TempDir(), "pieces.parquet")
			cfg := lake.Config{Paths: []string{path}, Choice: dataset.Choice{Target: "y", Features: []string{"x"}, Mark: true}}
			fatal.If(t, os.WriteFile(path, file.Bytes(), 0o600))
			columns, _ := readMarked(t, open(t, cfg))
			if !slices.Equal(columns[0], values) {
				t.Errorf("version %d, depth %d: other values", version, depth)
			}
			at := bytes.Index(file.Bytes(), binary.LittleEndian.AppendUint64(nil, math.Float64bits(values[20_001])))
			for _, bits := range []uint64{math.Float64bits(values[20_001]) ^ 1, math.Float64bits(math.NaN()), math.Float64bits(1e9)} {
				binary.LittleEndian.PutUint64(file.Bytes()[at:], bits)
				fatal.If(t, os.WriteFile(path, file.Bytes(), 0o600))
				if _, err := readAll(t, open(t, cfg)); err == nil || !strings.Contains(err.Error(), "the checksum is wrong") {
					t.Errorf("version %d, depth %d, bits %x: %v", version, depth, bits, err)
				}
			}
		}
	}
}
