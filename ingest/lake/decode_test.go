package lake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
)

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
	for _, v := range []int64{0, 1, -1, 127, -128, 255, -256, ingest.MaxInteger, -ingest.MaxInteger, math.MinInt64} {
		for width := 8; width <= maxDecimalWidth; width++ {
			b := make([]byte, width)
			for i := range b {
				b[i] = byte(v >> 63)
			}
			binary.BigEndian.PutUint64(b[width-8:], uint64(v))
			if got, want := (&column{digits: 3, lowest: math.MinInt64, highest: math.MaxInt64}).decimalBytes(b), float64(v)/1000; got != want {
				t.Errorf("decimalBytes(%d in %d bytes) = %v, want %v", v, width, got, want)
			}
		}
	}
	for _, b := range [][]byte{{0x00, 0x20, 0, 0, 0, 0, 0, 1}, {0xFF, 0xDF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, bytes.Repeat([]byte{0x7F}, 16), bytes.Repeat([]byte{0x80}, 16)} {
		if f := ingest.FaultOf((&column{lowest: math.MinInt64, highest: math.MaxInt64, element: parquetmeta.Element{Converted: deprecated.Decimal, Precision: 76}}).decimalBytes(b)); f != ingest.TooLong {
			t.Errorf("decimalBytes(%x): %v, want too long", b, f)
		}
	}
	wide := &column{lowest: math.MinInt64, highest: math.MaxInt64, digits: 18, element: parquetmeta.Element{Converted: deprecated.Decimal, Precision: 38, Scale: 18}}
	for text, want := range map[string]float64{"99500000000000000000": 99.5, "-99500000000000000001": -99.5, "123456789012345678901234567890": 123456789012.34567890123456789} {
		v, _ := new(big.Int).SetString(text, 10)
		if v.Sign() < 0 {
			v.Add(v, new(big.Int).Lsh(big.NewInt(1), 128))
		}
		if got := wide.decimalBytes(v.FillBytes(make([]byte, 16))); got != want {
			t.Errorf("%s with 18 decimal places: %v, want %v", text, got, want)
		}
	}
}

// A page header that the library writes is read as it is, and every prefix of it is
// short.
func TestReadPageHeader(t *testing.T) {
	h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: 100, CompressedPageSize: 90, CRC: -3}
	h.DataPageHeader.Set(format.DataPageHeader{NumValues: 7, DefinitionLevelEncoding: format.RLE, Statistics: format.Statistics{MinValue: []byte("12345678"), NullCount: 3}})
	b := marshalThrift(t, &h)
	want := parquetmeta.PageHeader{Uncompressed: 100, Compressed: 90, Checked: true, Sum: -3, Packed: true, Values: 7, DefinitionLevels: format.RLE}
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
	list := func(field byte, n uint64, kind byte, element ...byte) []byte {
		b := binary.AppendUvarint([]byte{field<<4 | 9, 0xF0 | kind}, n)
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
		"columns of a long name": slices.Concat([]byte{0x29, 0xFC, 0xE9, 0x07, 0x48, 1, 'a', 0x15, 2, 0, 0x35, 0, 0x18, 0xA0, 0x9C, 1}, make([]byte, 20000),
			[]byte{0x15, 0xFE, 0x7F, 0}, bytes.Repeat([]byte{0x15, 4, 0x38, 1, 'a', 0}, 999), []byte{0x16, 0, 0x19, 0x0C, 0}),
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

// Indexes and texts of fastparquet end in zeros; those of other writers do not.
func TestValuesBeforeZeros(t *testing.T) {
	page := append([]byte{2, 3, 0b11_10_01_00, 0b00_01_10_11}, make([]byte, plainFill)...)
	text := append([]byte{2, 0, 0, 0, 'a', 'b'}, make([]byte, plainFill)...)
	for _, filled := range []bool{true, false} {
		d := decoder{col: &column{filled: filled}, width: 8}
		if err := d.decode(format.RLEDictionary, page, 8); (err == nil) != filled || filled && !slices.Equal(d.indexes.next()[:8], []int32{0, 1, 2, 3, 3, 2, 1, 0}) {
			t.Errorf("filled %v: %v", filled, err)
		}
		d.width = -1
		if err := d.decode(format.Plain, text, 1); (err == nil) != filled || filled && string(d.texts) != "ab" {
			t.Errorf("filled %v: %v", filled, err)
		}
	}
}

// Indexes of any width are those that were written, bit by bit, in runs and packed groups of any length, and
// however many are taken at a time. An index beyond the dictionary is an error.
func TestIndexesInBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for width := range 17 {
		table := make([]int, 1<<width)
		for i := range table {
			table[i] = i
		}
		page, want := []byte{byte(width)}, []int(nil)
		for _, length := range []int{8, 3000, 1, 16, indexBlock, 2 * indexBlock, 8, 24} {
			if length%8 > 0 || rng.IntN(3) == 0 { // equal ones
				v := rng.IntN(len(table))
				page = binary.AppendUvarint(page, uint64(length)<<1)
				page = append(page, binary.LittleEndian.AppendUint32(nil, uint32(v))[:(width+7)/8]...)
				want = append(want, slices.Repeat([]int{v}, length)...)
				continue
			}
			page = binary.AppendUvarint(page, uint64(length/8)<<1|1)
			packed := make([]byte, length/8*width)
			for i := range length {
				v := rng.IntN(len(table))
				want = append(want, v)
				for b := range width {
					packed[(i*width+b)/8] |= byte(v>>b&1) << ((i*width + b) % 8)
				}
			}
			page = append(page, packed...)
		}
		d := decoder{col: &column{}, width: 8}
		fatal.If(t, d.decode(format.RLEDictionary, page, len(want)))
		got := make([]int, len(want))
		for rest := got; len(rest) > 0; {
			n := min(len(rest), 1+rng.IntN(1500))
			fatal.If(t, lookUp(rest[:n], &d.indexes, table))
			rest = rest[n:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d bits: other indexes", width)
		}
		fatal.If(t, d.indexes.reset(page, len(want), false))
		if err := lookUp(got, &d.indexes, table[:slices.Max(want)]); !errors.Is(err, errMalformed) {
			t.Errorf("%d bits: an index beyond the dictionary: %v", width, err)
		}
	}
}

// Years that have no number of nanoseconds in 64 bits are read to the microsecond.
func TestInt96OfAnyYear(t *testing.T) {
	for _, c := range []struct {
		day  uint32
		nano uint64
		want float64
	}{
		{1721426, 0, -62135596800},                      // 0001-01-01
		{5373484, 86399_999_900_999, 253402300799.9999}, // 9999-12-31
		{julianDay1970, 1_500_000_000, 1.5},
	} {
		b := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, c.nano), c.day)
		if got := int96Seconds(b); got != c.want {
			t.Errorf("%d: %v, want %v", c.day, got, c.want)
		}
	}
	if got := int96Seconds(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, nanosPerDay), julianDay1970)); ingest.FaultOf(got) != ingest.Mistyped {
		t.Errorf("a day of 24 h and more: %v", got)
	}
}
