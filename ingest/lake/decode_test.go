package lake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	deltapkg "github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

// padded copies b into an array with the room that unpacking needs.
func padded(b []byte) []byte { return append(make([]byte, 0, len(b)+unpackPadding), b...) }

// pieces cuts n into random parts.
func pieces(rng *rand.Rand, n int, use func(from, to int)) {
	for from := 0; from < n; {
		to := min(n, from+1+rng.IntN(700))
		use(from, to)
		from = to
	}
}

func TestHybrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for width := uint(1); width <= 32; width++ {
		want := make([]int32, 3000)
		for i := range want {
			if i > 0 && rng.IntN(4) > 0 && i%1000 < 500 {
				want[i] = want[i-1] // runs
			} else {
				want[i] = int32(rng.Uint64() & (1<<width - 1))
			}
		}
		e := rle.Encoding{BitWidth: int(width)}
		b, err := e.EncodeInt32(nil, want)
		fatal.If(t, err)
		var h hybrid
		h.reset(padded(b), width)
		got := make([]int32, len(want))
		pieces(rng, len(want), func(from, to int) {
			if err := h.read(got[from:to]); err != nil {
				t.Fatalf("width %d, values %d to %d: %v", width, from, to, err)
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("width %d: wrong values", width)
		}
		if err := h.read(make([]int32, 8)); err == nil {
			t.Errorf("width %d: no error after the end", width)
		}
	}
}

// A run may claim any length; only what is asked for is decoded.
func TestHybridClaims(t *testing.T) {
	var h hybrid
	h.reset(padded(append(binary.AppendUvarint(nil, math.MaxUint64-1), 1)), 1)
	if !h.skip(10, 1) {
		t.Error("a run of ones is not skipped")
	}
	dst := make([]int32, 5)
	if err := h.read(dst); err != nil || !slices.Equal(dst, []int32{1, 1, 1, 1, 1}) {
		t.Errorf("read = %v, %v", dst, err)
	}
	h.reset(padded(append(binary.AppendUvarint(nil, math.MaxUint64), 0xAA)), 1)
	if err := h.read(dst); err != nil || !slices.Equal(dst, []int32{0, 1, 0, 1, 0}) {
		t.Errorf("read of packed groups = %v, %v", dst, err)
	}
	if err := h.read(dst); err == nil {
		t.Error("packed groups beyond the input: no error")
	}
}

// gather stops at the first index beyond the table, wherever it is, and never
// writes behind the last index.
func TestGather(t *testing.T) {
	table := []float64{10, 11, 12}
	for n := range 11 {
		for bad := range n + 1 { // the last time without a bad index
			for _, beyond := range []int32{3, math.MaxInt32, -1} {
				indexes, dst := make([]int32, n), make([]float64, n+1)
				want := make([]float64, n+1)
				for i := range indexes {
					indexes[i] = int32(i % len(table))
					if i < bad {
						want[i] = table[i%len(table)]
					}
				}
				if bad < n {
					indexes[bad] = beyond
				}
				if got := gather(dst, indexes, table); got != bad {
					t.Errorf("gather(%d) = %d, want %d", indexes, got, bad)
				}
				if !slices.Equal(dst[:bad], want[:bad]) || dst[n] != 0 {
					t.Errorf("gather(%d) gathered %v, want %v", indexes, dst, want)
				}
			}
		}
	}
}

func TestDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 31, 32, 33, 128, 129, 130, 5000} {
		want := make([]int64, n)
		for i := range want {
			want[i] = int64(rng.Uint64()) >> rng.IntN(64)
		}
		var e deltapkg.BinaryPackedEncoding
		b, err := e.EncodeInt64(nil, want)
		fatal.If(t, err)
		var d delta
		fatal.If(t, d.reset(padded(b), nil))
		got := make([]int64, n)
		pieces(rng, n, func(from, to int) {
			if err := d.read(got[from:to]); err != nil {
				t.Fatalf("%d values, %d to %d: %v", n, from, to, err)
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("%d values: wrong", n)
		}
		if err := d.read(make([]int64, 1)); err == nil {
			t.Errorf("%d values: no error after the end", n)
		}
	}
}

func TestDeltaRejectsClaims(t *testing.T) {
	for _, header := range [][]uint64{{0, 1, 5, 0}, {128, 0, 5, 0}, {1 << 40, 4, 5, 0}, {128, 3, 5, 0}, {128, 4, 5}} {
		var b []byte
		for _, u := range header {
			b = binary.AppendUvarint(b, u)
		}
		var d delta
		if err := d.reset(padded(b), nil); err == nil {
			t.Errorf("header %v: no error", header)
		}
	}
}

// seconds is the rational number rounded once, in each unit.
func TestSecondsRoundsCorrectly(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	unit := map[int]int64{3: 1e3, 6: 1e6, 9: 1e9}
	for range 20000 {
		for digits, u := range unit {
			v := int64(rng.Uint64()) >> rng.IntN(64)
			want, _ := new(big.Rat).SetFrac64(v, u).Float64()
			if got := ingest.Seconds(v, digits); got != want {
				t.Fatalf("seconds(%d, %d) = %v, want %v", v, digits, got, want)
			}
		}
	}
}

func TestDecimalBytes(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 127, -128, 255, -256, ingest.MaxInteger, -ingest.MaxInteger} {
		for width := 8; width <= maxDecimalWidth; width++ {
			b := make([]byte, width)
			for i := range b {
				b[i] = byte(v >> 63)
			}
			binary.BigEndian.PutUint64(b[width-8:], uint64(v))
			if got, want := (&column{digits: 3, highest: math.MaxInt64}).decimalBytes(b), float64(v)/1000; got != want {
				t.Errorf("decimalBytes(%d in %d bytes) = %v, want %v", v, width, got, want)
			}
		}
	}
	for _, b := range [][]byte{{0x00, 0x20, 0, 0, 0, 0, 0, 1}, {0xFF, 0xDF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, bytes.Repeat([]byte{0x7F}, 16), bytes.Repeat([]byte{0x80}, 16)} {
		if f := ingest.FaultOf((&column{highest: math.MaxInt64}).decimalBytes(b)); f != ingest.TooLong {
			t.Errorf("decimalBytes(%x): %v, want too long", b, f)
		}
	}
}

// A page header that the library writes is read as it is, and every prefix of it is
// short.
func TestReadPageHeader(t *testing.T) {
	h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: 100, CompressedPageSize: 90, CRC: -3}
	h.DataPageHeader.Set(format.DataPageHeader{NumValues: 7, DefinitionLevelEncoding: format.RLE, Statistics: format.Statistics{MinValue: []byte("12345678"), NullCount: 3}})
	b := marshalThrift(t, &h)
	want := parquetmeta.PageHeader{Uncompressed: 100, Compressed: 90, Checked: true, Sum: 0xFFFFFFFD, Described: true, Values: 7, DefinitionLevels: format.RLE}
	if got, n, err := parquetmeta.ReadPageHeader(append(slices.Clone(b), 1, 2, 3)); n != len(b) || err != nil || got != want {
		t.Errorf("readPageHeader = %+v, %d, %v, want %+v, %d", got, n, err, want, len(b))
	}
	for n := range b {
		if _, _, err := parquetmeta.ReadPageHeader(b[:n]); !errors.Is(err, errShort) {
			t.Errorf("prefix of %d bytes: %v", n, err)
		}
	}
}

// What would make the stack or a list too large for the bytes that there are is
// refused.
func TestReadMetaBounds(t *testing.T) {
	list := func(field byte, n uint64, of byte, element ...byte) []byte {
		b := binary.AppendUvarint([]byte{field<<4 | 9, 0xF0 | of}, n)
		return append(append(b, bytes.Repeat(element, int(n))...), 0)
	}
	inGroup := []byte{0x29, 0x1C, 0x48, 1, 'a', 0, 0x16, 0, 0x19, 0x1C} // a schema of a root, rows, a row group
	for name, b := range map[string][]byte{
		"lists in lists":            bytes.Repeat([]byte{0x19}, 4<<20),
		"lists of lists":            bytes.Repeat([]byte{0x19, 0x19, 0x19}, 1<<20),
		"sets in sets":              bytes.Repeat([]byte{0x1A}, 4<<20),
		"structures":                bytes.Repeat([]byte{0x1C}, 1<<20),
		"maps in maps":              bytes.Repeat([]byte{0x1B, 0x01, 0xBB}, 1<<20),
		"lists in unknown fields":   bytes.Repeat([]byte{0xF9}, 4<<20),
		"chunks of a byte":          append(inGroup, list(1, 4<<20, 12, 0)...),
		"row groups of a byte":      list(4, 4<<20, 12, 0),
		"schema elements of a byte": list(2, 4<<20, 12, 0),
		"a list that is not there":  {0x29, 0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07},
	} {
		before := allocated()
		if _, err := parseFooter(b, int64(len(b)+100)); !errors.Is(err, errMalformed) {
			t.Errorf("%s: %v, want %v", name, err, errMalformed)
		}
		if _, _, err := parquetmeta.ReadPageHeader(b[:min(len(b), maxPageHeader)]); err == nil {
			t.Errorf("%s: read as a page header", name)
		}
		if used := allocated() - before; used > 1<<20 {
			t.Errorf("%s: %d KiB were allocated for %d KiB", name, used>>10, len(b)>>10)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A page whose body holds less than its header says is damaged, also if it holds nothing:
// its end is not that of the chunk.
func TestEmptyBodyIsNoEnd(t *testing.T) {
	for codec, pack := range packers {
		for name, src := range map[string][]byte{"no byte": nil, "an empty body": pack(t, nil), "too few": pack(t, make([]byte, 7))} {
			err := new(decompressor).decompress(codec, make([]byte, 8), src)
			if err == nil || errors.Is(err, io.EOF) {
				t.Errorf("%v, %s: error %v", codec, name, err)
			}
		}
	}
}

// Booleans in runs: pages of any mix, and what is refused.
func TestBooleansInRuns(t *testing.T) {
	var bits []byte
	var want []float64
	rng := rand.New(rand.NewPCG(1, 2))
	for len(bits) < 50_000 {
		for bit, n := byte(rng.IntN(2)), 1+rng.IntN(1<<rng.IntN(14)); n > 0; n-- {
			bits, want = append(bits, bit), append(want, float64(bit))
		}
	}
	body, err := (&rle.Encoding{BitWidth: 1}).EncodeLevels(nil, bits)
	fatal.If(t, err)
	page := func(body []byte) []byte {
		return padded(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...))
	}
	read := func(data []byte, n, step int) ([]float64, error) {
		c := &column{kind: kindBoolean}
		v := &valueReader[float64]{col: c, to: c}
		if err := v.reset(format.RLE, data, nil, nil); err != nil {
			return nil, err
		}
		got := make([]float64, n)
		for from := 0; from < n; from += step {
			if err := v.read(got[from:min(n, from+step)]); err != nil {
				return nil, err
			}
		}
		return got, v.finished()
	}
	for _, step := range []int{1, 7, 511, 4096, len(want)} {
		if got, err := read(page(body), len(want), step); err != nil || !slices.Equal(got, want) {
			t.Errorf("by %d: other values, or %v", step, err)
		}
	}
	for name, data := range map[string][]byte{
		"too few": page([]byte{8, 1}), "too many": page([]byte{200, 1, 1}), "of 2": page([]byte{20, 2}), "no length": padded([]byte{1, 0, 0}), "none": nil,
		"another length": padded(append(page([]byte{20, 1}), 0)), "an empty run": page([]byte{0, 1}),
	} {
		if got, err := read(data, 10, 3); err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
	for _, data := range [][]byte{nil, page(nil)} { // a page of nulls
		if _, err := read(data, 0, 1); err != nil {
			t.Errorf("no value in %d bytes: %v", len(data), err)
		}
	}
}

// A block of LZ4 is read if it ends as the format wants.
func TestBlocksOfLZ4(t *testing.T) {
	var d decompressor
	zeros := packers[format.Lz4Raw](t, make([]byte, 100))
	twelve := []byte{0x10, 'a', 1, 0, 0x70, 'b', 'b', 'b', 'b', 'b', 'b', 'b'} // a, 4 of it, 7 literals
	for name, c := range map[string]struct {
		block []byte
		size  int
		ok    bool
	}{
		"zeros":                        {zeros, 100, true},
		"too long":                     {zeros, 99, false},
		"too short":                    {zeros, 101, false},
		"literals":                     {[]byte{0x20, 'a', 'b'}, 2, true},
		"cut":                          {zeros[:len(zeros)-1], 99, false},
		"a match at the end":           {[]byte{0x10, 'a', 1, 0}, 5, false},
		"a match 11 before the end":    {twelve, 12, false},
		"a match 12 before the end":    {append(slices.Replace(slices.Clone(twelve), 4, 5, 0x80), 'b'), 13, true},
		"a match from before it":       {append(slices.Replace(slices.Clone(twelve), 2, 5, 2, 0, 0x80), 'b'), 13, false},
		"a match of itself":            {append(slices.Replace(slices.Clone(twelve), 2, 5, 0, 0, 0x80), 'b'), 13, false},
		"a length without an end":      {bytes.Repeat([]byte{255}, 50), 5000, false},
		"nothing":                      {nil, 1, false},
		"four literals behind a match": {[]byte{0x10, 'a', 1, 0, 0x40, 'b', 'b', 'b', 'b'}, 9, false},
	} {
		if err := d.decompress(format.Lz4Raw, make([]byte, c.size), c.block); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
