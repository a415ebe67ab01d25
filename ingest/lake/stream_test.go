package lake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// valuesOfChunk reads a chunk with a new cursor that reads pages whole up to a size.
func valuesOfChunk(b []byte, c *column, ch chunk, whole int) ([]float64, error) {
	var cur cursor
	cur.reset(bytes.NewReader(b), c, ch, new(decompressor), new([]byte), whole)
	rng := rand.New(rand.NewPCG(2, uint64(ch.rows)))
	got := make([]float64, ch.rows)
	for from := 0; from < len(got); {
		to := min(len(got), from+1+rng.IntN(5000))
		if err := guard(func() error { return cur.read(got[from:to]) }); err != nil {
			return got[:from], err
		}
		from = to
	}
	return got, guard(cur.finish)
}

// eachChunk calls use for every readable chunk of testdata/writers.
func eachChunk(t *testing.T, use func(name string, b []byte, c *column, ch chunk)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("testdata", "writers"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".parquet" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		foot, err := readFooter(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil //nolint:nilerr // refused, which is not the matter here
		}
		for g := range foot.groups {
			for i := range foot.columns {
				c := &foot.columns[i]
				if c.Use == ingest.Unusable || c.refused != "" || foot.groups[g].Rows == 0 {
					continue
				}
				ch, err := foot.chunk(g, c)
				if err != nil {
					return err
				}
				use(fmt.Sprintf("%s, row group %d, %s", path, g, c.Name), b, c, ch)
			}
		}
		return nil
	})
	fatal.If(t, err)
}

// A page that is read in pieces has the values that it has when it is read whole, by
// every writer, in every codec and encoding.
func TestPiecesAreTheWhole(t *testing.T) {
	chunks := 0
	eachChunk(t, func(name string, b []byte, c *column, ch chunk) {
		want, err := valuesOfChunk(b, c, ch, largestWhole)
		got, err2 := valuesOfChunk(b, c, ch, 0)
		if err != nil || err2 != nil || !slices.EqualFunc(got, want, sameBits) {
			t.Errorf("%s: %v whole, %v in pieces, the same values: %t", name, err, err2, slices.EqualFunc(got, want, sameBits))
		}
		chunks++
	})
	if chunks < 300 {
		t.Errorf("%d chunks", chunks)
	}
}

// A damaged page that is read in pieces is refused where it is refused whole, and
// nothing panics.
func TestDamagedPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	refused, differ := 0, 0
	eachChunk(t, func(name string, b []byte, c *column, ch chunk) {
		if ch.rows < 1000 {
			return
		}
		for range 2 {
			at := ch.start + rng.Int64N(ch.end-ch.start)
			damaged := slices.Clone(b)
			damaged[at] ^= 1 << rng.IntN(8)
			want, err := valuesOfChunk(damaged, c, ch, largestWhole)
			got, err2 := valuesOfChunk(damaged, c, ch, 0)
			if err != nil {
				refused++
			}
			if errors.Is(err2, errRepeat) {
				continue
			}
			if (err == nil) != (err2 == nil) || err == nil && !slices.EqualFunc(got, want, sameBits) {
				differ++
				t.Errorf("%s, byte %d: %v whole, %v in pieces", name, at, err, err2)
			}
			if err2 != nil && strings.Contains(err2.Error(), "decoding failed") && !strings.Contains(err.Error(), "decoding failed") {
				t.Errorf("%s, byte %d: %v", name, at, err2)
			}
		}
	})
	t.Logf("%d refused", refused)
}

// pieceOf is a body that comes from memory.
func pieceOf(b []byte) *body {
	p := &pageReader{src: bytes.NewReader(b), end: int64(len(b)), size: len(b), verified: true}
	piece := new(body)
	if err := piece.reset(p); err != nil && len(b) > 0 {
		panic(err) // memory does not fail
	}
	return piece
}

// What is decompressed in pieces is what the library makes of it at once; where it is
// an error there, it is one here, and the other way round but for what is no
// snappy but S2.
func FuzzSnappy(f *testing.F) {
	f.Add(snappy.Encode(nil, []byte("abcabcabcabcabcabcabcabcabcabcabcabcabc")))
	f.Add(snappy.Encode(nil, bytes.Repeat([]byte{0}, 300000)))
	rng := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 100000)
	for i := range noise {
		noise[i] = byte(rng.IntN(5) * rng.IntN(60))
	}
	f.Add(snappy.Encode(nil, slices.Concat(noise, noise)))
	f.Add([]byte{8, 0x0C, 1, 2, 3, 4, 0x0F, 4, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := snappy.DecodedLen(b)
		if err != nil || n > 1<<22 {
			return
		}
		want, err := snappy.Decode(nil, b)
		var s snappyReader
		s.reset(pieceOf(b), n)
		var got []byte
		piece := make([]byte, 1000)
		var err2 error
		for err2 == nil && len(got) <= n {
			var k int
			k, err2 = s.Read(piece)
			got = append(got, piece[:k]...)
		}
		if errors.Is(err2, errRepeat) {
			return
		}
		if (err == nil) != errors.Is(err2, io.EOF) || err == nil && !bytes.Equal(got, want) {
			t.Errorf("%v at once, %v in pieces: %d bytes and %d", err, err2, len(want), len(got))
		}
	})
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
		if _, err := cw.WriteRowValues(values); err != nil {
			t.Fatal(err)
		}
	}
	fatal.If(t, errors.Join(w.Flush(), w.Close(), f.Close()))
	return path
}

// sumOfFirst adds up the values of the first column of onePage.
func sumOfFirst(rows int, value func(rng *rand.Rand) parquet.Value) (sum float64) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range rows {
		if v := value(rng); v.Kind() == parquet.Double {
			sum += v.Double()
		} else {
			sum += float64(v.Int64())
		}
	}
	return sum
}

// Memory does not grow with the rows of a page, in any encoding and codec that can be
// read in pieces; and it stays within what Overhead says, page by page or not.
func TestMemoryOfLargePages(t *testing.T) {
	if testing.Short() {
		t.Skip("counts what is allocated, to which the race detector adds")
	}
	double := func(rng *rand.Rand) parquet.Value { return parquet.DoubleValue(rng.NormFloat64()) }
	rounded := func(rng *rand.Rand) parquet.Value { return parquet.DoubleValue(float64(rng.IntN(2000)) / 8) }
	long := func(rng *rand.Rand) parquet.Value { return parquet.Int64Value(rng.Int64N(1 << 50)) }
	leaf := parquet.Leaf(parquet.DoubleType)
	const rows, columns = 1 << 19, 2 // 4 MiB a page
	for name, c := range map[string]struct {
		node  parquet.Node
		codec compress.Codec
		value func(*rand.Rand) parquet.Value
		far   bool // all of the page is needed, or a codec looks back as far
	}{
		"plain":               {leaf, &parquet.Uncompressed, double, false},
		"plain optional":      {parquet.Optional(leaf), &parquet.Uncompressed, double, false},
		"snappy":              {leaf, &parquet.Snappy, double, false},
		"snappy from far":     {leaf, &parquet.Snappy, rounded, true}, // the writer makes no blocks
		"snappy optional":     {parquet.Optional(leaf), &parquet.Snappy, double, false},
		"gzip":                {leaf, &parquet.Gzip, rounded, false},
		"zstd":                {leaf, &parquet.Zstd, rounded, true},
		"brotli":              {leaf, &parquet.Brotli, rounded, true},
		"integers":            {parquet.Leaf(parquet.Int64Type), &parquet.Uncompressed, long, false},
		"delta":               {parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked), &parquet.Snappy, long, false},
		"dictionary":          {parquet.Encoded(leaf, &parquet.RLEDictionary), &parquet.Snappy, rounded, false},
		"dictionary, plain":   {parquet.Encoded(leaf, &parquet.RLEDictionary), &parquet.Uncompressed, rounded, false},
		"split":               {parquet.Encoded(leaf, &parquet.ByteStreamSplit), &parquet.Uncompressed, double, false},
		"split and in snappy": {parquet.Encoded(leaf, &parquet.ByteStreamSplit), &parquet.Snappy, double, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := onePage(t, rows, columns, c.node, c.codec, c.value)
			src, err := Open(t.Context(), Config{Paths: []string{path}})
			fatal.If(t, err)
			overhead, err := src.Overhead(t.Context(), 1)
			fatal.If(t, err)
			b, err := src.Open(t.Context(), 0)
			fatal.If(t, err)
			defer b.Close()
			before := allocated()
			got := 0
			sum := 0.0
			for {
				record, err := b.Next(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				fatal.If(t, err)
				got += int(record.NumRows())
				for _, v := range record.Column(0).(*array.Float64).Float64Values() {
					sum += v
				}
				record.Release()
			}
			used := int64(allocated() - before)
			t.Logf("%d KiB allocated, %d KiB said", used>>10, overhead>>10)
			if want := sumOfFirst(rows, c.value); sum != want {
				t.Errorf("the first column adds up to %v, want %v", sum, want)
			}
			const batches = 4 * 8 * mostBatchRows * columns
			dropped := int64(0) // what is allocated and not kept
			if c.codec == &parquet.Brotli {
				dropped = overhead / 2 // its ring grows by doubling
			}
			if got != rows || used > overhead+batches+dropped {
				t.Errorf("%d of %d rows; %d KiB were allocated, Overhead says %d KiB", got, rows, used>>10, overhead>>10)
			}
			if !c.far && (used > 4<<20 || overhead > 4<<20) {
				t.Errorf("%d KiB were allocated for pages of %d KiB in pieces; Overhead says %d KiB", used>>10, 8*rows>>10, overhead>>10)
			}
		})
	}
}
