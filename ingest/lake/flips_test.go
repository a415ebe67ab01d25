package lake_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A bit of a footer that has flipped changes no value undetected. The footer of Parquet
// has no checksum; what shows it is that it says most things twice. What is left is
// counted here and named among the README's limits: fastparquet gives the unit of
// times once.
func TestFooterFlips(t *testing.T) {
	const every = 16 // of the bits in a short run
	for _, c := range []struct {
		name     string
		features []string
		unseen   int
	}{
		{"same/pyarrow-checksum", writersFeatures, 0},
		{"same/pyarrow-decimal-fixed", writersFeatures, 0},
		{"same/duckdb-v2", writersFeatures, 0},
		{"same/parquetmr-10-optional-snappy", writersFeatures, 0},
		{"same/fastparquet-GZIP", writersFeatures, 1},
		{"same/parquetmr-20-optional-zstd", []string{"temp", "pres", "wind", "hour", "time"}, 0},
		{"nulls/null-feature-row07", []string{"temp", "wind", "hour", "rain", "time"}, 0},
		{"refuse/date32", []string{"day", "temp", "wind"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole, err := os.ReadFile(writersData(filepath.FromSlash(c.name) + ".parquet"))
			fatal.If(t, err)
			path := filepath.Join(t.TempDir(), "victim.parquet")
			fatal.If(t, os.WriteFile(path, whole, 0o600))
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			fatal.If(t, err)
			defer f.Close()
			write := func(at int, b byte) {
				_, err := f.WriteAt([]byte{b}, int64(at))
				fatal.If(t, err)
			}
			cfg := lake.Config{Paths: []string{path}, Choice: dataset.Choice{Features: c.features, Target: writersTarget}}
			want, err := readAll(t, open(t, cfg))
			fatal.If(t, err)
			start := len(whole) - 8 - int(binary.LittleEndian.Uint32(whole[len(whole)-8:]))
			flips, warned, unseen := 0, 0, 0
			for bit := 8 * start; bit < 8*len(whole); bit++ {
				if testing.Short() && bit%every != 0 {
					continue
				}
				flips++
				at := bit / 8
				write(at, whole[at]^1<<(bit%8))
				if src, err := lake.Open(t.Context(), cfg); err != nil {
					warned++
				} else if got, err := readAll(t, src); err != nil {
					warned++
				} else if !slices.Equal(got, want) {
					unseen++
					t.Logf("bit %d of byte %d of the footer, near %q", bit%8, at-start, whole[max(start, at-12):min(at+8, len(whole))])
				}
				write(at, whole[at])
			}
			t.Logf("%d flips: %d are errors, %d change nothing, %d change values", flips, warned, flips-warned-unseen, unseen)
			if unseen > c.unseen {
				t.Errorf("%d flips of %d change values undetected, want %d at most", unseen, flips, c.unseen)
			}
		})
	}
}
