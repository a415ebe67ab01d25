package lake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// doublesPage makes pages of uncompressed doubles.
type doublesPage struct {
	version            int // of the page's format
	optional, checksum bool
	extra              int // zeros behind the values, as fastparquet writes them
	split              bool
}

// encode returns the page's header and body. Nulls are cells of [ingest.Null].
func (p doublesPage) encode(t *testing.T, values []float64) (header, body []byte) {
	t.Helper()
	var levels []byte // of definition, one a value
	for _, v := range values {
		if ingest.FaultOf(v) == ingest.Null {
			levels = append(levels, 0)
			continue
		}
		levels = append(levels, 1)
		body = binary.LittleEndian.AppendUint64(body, math.Float64bits(v))
	}
	if p.split {
		plain, n := slices.Clone(body), len(body)/8
		for i, x := range plain {
			body[i%8*n+i/8] = x
		}
	}
	encoding := format.Plain
	if p.split {
		encoding = format.ByteStreamSplit
	}
	definition := 0
	if p.optional {
		e := rle.Encoding{BitWidth: 1}
		b, err := e.EncodeLevels(nil, levels)
		fatal.If(t, err)
		definition = len(b)
		if p.version == 1 {
			b = slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b)
		}
		body = slices.Concat(b, body)
	}
	body = append(body, make([]byte, p.extra)...)
	h := format.PageHeader{UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body))}
	if p.checksum {
		h.CRC = int32(crc32.ChecksumIEEE(body))
	}
	if p.version == 1 {
		h.Type = format.DataPage
		h.DataPageHeader.Set(format.DataPageHeader{NumValues: int32(len(values)), Encoding: encoding, DefinitionLevelEncoding: format.RLE})
	} else {
		h.Type = format.DataPageV2
		h.DataPageHeaderV2.Set(format.DataPageHeaderV2{NumValues: int32(len(values)), NumRows: int32(len(values)), NumNulls: int32(len(values) - bytes.Count(levels, []byte{1})), Encoding: encoding, DefinitionLevelsByteLength: int32(definition)})
	}
	var protocol thrift.CompactProtocol
	header, err := thrift.Marshal(&protocol, &h)
	fatal.If(t, err)
	return header, body
}

// A longestRead is a file that remembers the longest reading.
type longestRead struct {
	io.ReaderAt
	bytes int
}

func (r *longestRead) ReadAt(b []byte, at int64) (int, error) {
	r.bytes = max(r.bytes, len(b))
	return r.ReaderAt.ReadAt(b, at)
}

// deepOf is the definition level of the values of a column.
func deepOf(optional bool) int32 {
	if optional {
		return 1
	}
	return 0
}

// readDoubles reads a chunk with a new cursor, in pieces of random lengths.
func readDoubles(src io.ReaderAt, p doublesPage, size, rows int, lo, hi float64) ([]float64, error) {
	var c cursor
	col := &column{kind: kindDouble, width: 8, deep: deepOf(p.optional), filled: p.extra > 0}
	c.reset(src, col, chunk{end: int64(size), uncompressed: int64(size), rows: int64(rows), codec: format.Uncompressed, lo: bound{value: lo}, hi: bound{value: hi}}, nil, nil, smallestWhole)
	rng := rand.New(rand.NewPCG(1, uint64(rows)))
	got := make([]float64, rows)
	for from := 0; from < rows; {
		to := min(rows, from+1+rng.IntN(20000))
		if err := guard(func() error { return c.read(got[from:to]) }); err != nil {
			return got[:from], err
		}
		from = to
	}
	return got, guard(c.finish)
}

// forDirectPages calls f for all kinds of pages that are read directly.
func forDirectPages(f func(p doublesPage, name string)) {
	for _, version := range []int{1, 2} {
		for _, optional := range []bool{false, true} {
			for _, checksum := range []bool{false, true} {
				for _, extra := range []int{0, plainFill} {
					f(doublesPage{version, optional, checksum, extra, false}, fmt.Sprintf("version %d, optional %t, checksum %t, %d bytes more", version, optional, checksum, extra))
				}
				f(doublesPage{version, optional, checksum, 0, true}, fmt.Sprintf("version %d, optional %t, checksum %t, in streams", version, optional, checksum))
			}
		}
	}
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// Large and small pages in turns give their values, whatever they are, and a
// large one is not read as a whole unless its checksum is wanted before its end.
func TestDirect(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, faults := range []bool{false, true} {
		forDirectPages(func(p doublesPage, name string) {
			var file []byte
			var want []float64
			for _, rows := range []int{directAtOnce, 100, 30001, directAtOnce - 1, 20000, 1, 1} {
				values := make([]float64, rows)
				for i := range values {
					values[i] = rng.NormFloat64()
					switch {
					case faults && p.optional && rng.IntN(10) == 0:
						values[i] = ingest.Null.Cell()
					case faults && rng.IntN(1000) == 0:
						values[i] = math.Inf(1)
					}
				}
				header, body := p.encode(t, values)
				file = slices.Concat(file, header, body)
				want = append(want, values...)
			}
			src := &longestRead{ReaderAt: bytes.NewReader(file)}
			got, err := readDoubles(src, p, len(file), len(want), math.NaN(), math.NaN())
			if err != nil {
				t.Fatalf("%s, faults %t: %v", name, faults, err)
			}
			if !slices.EqualFunc(got, want, sameBits) {
				t.Errorf("%s, faults %t: wrong values", name, faults)
			}
			if early := p.checksum && (faults || p.extra > 0); src.bytes >= 8*20000 && !early {
				t.Errorf("%s, faults %t: %d bytes were read at once", name, faults, src.bytes)
			}
		})
	}
}

// A damaged body is refused for its checksum, whatever the damage looks like.
func TestDirectDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	values := make([]float64, 20000)
	for i := range values {
		values[i] = rng.Float64() + 1
	}
	forDirectPages(func(p doublesPage, name string) {
		header, body := p.encode(t, values)
		file := slices.Concat(header, body)
		lo, hi := slices.Min(values), slices.Max(values)
		for range 100 {
			at := len(file) - 1 - rng.IntN(min(len(body), 1<<rng.IntN(18))) // some of them near the end
			bit := byte(1) << rng.IntN(8)
			file[at] ^= bit
			_, err := readDoubles(bytes.NewReader(file), p, len(file), len(values), lo, hi)
			file[at] ^= bit
			switch levels := at-len(header) < len(body)-p.extra-8*len(values); {
			case !p.checksum: // an error or not
			case err == nil || !levels && !strings.Contains(err.Error(), "checksum"):
				t.Errorf("%s, bit of byte %d of %d: %v, want a wrong checksum", name, at, len(file), err)
			}
		}
	})
}

// A wrongOnce is a file of which the first reading that has a certain byte gets
// one bit of it wrong.
type wrongOnce struct {
	io.ReaderAt
	at   int64
	bit  byte
	done bool
}

func (r *wrongOnce) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(b, at)
	if i := r.at - at; !r.done && i >= 0 && i < int64(n) {
		b[i] ^= r.bit
		r.done = true
	}
	return n, err
}

// The checksum is of the bytes that became values, not of a second reading: no wrong value gets
// through.
func TestDirectChecksumIsOfTheValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	values := make([]float64, 40000)
	for i := range values {
		values[i] = rng.Float64() + 1
	}
	values[30000] = math.Inf(1) // for which the checksum is compared early
	forDirectPages(func(p doublesPage, name string) {
		if !p.checksum {
			return
		}
		header, body := p.encode(t, values)
		file := slices.Concat(header, body)
		for range 40 {
			at := len(file) - 1 - p.extra - rng.IntN(8*len(values))
			src := &wrongOnce{ReaderAt: bytes.NewReader(file), at: int64(at), bit: byte(1) << rng.IntN(8)}
			got, err := readDoubles(src, p, len(file), len(values), math.NaN(), math.NaN())
			if err == nil && !slices.EqualFunc(got, values, sameBits) {
				t.Fatalf("%s, byte %d of %d: a wrong value got through", name, at, len(file))
			}
		}
	})
}

// A file that has become shorter is an error.
func TestDirectTruncated(t *testing.T) {
	p := doublesPage{version: 1}
	header, body := p.encode(t, make([]float64, 30000))
	file := slices.Concat(header, body)
	for _, n := range []int{firstRead, len(file) / 2, len(file) - 1} {
		_, err := readDoubles(bytes.NewReader(file[:n]), p, len(file), 30000, 0, 0)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v, want an unexpected end", n, len(file), err)
		}
	}
}

// A page that is too short for the rows or the levels that it claims is refused,
// whatever follows it.
func TestDirectClaims(t *testing.T) {
	values := make([]float64, 10000)
	for name, claim := range map[string]func(*format.PageHeader){
		"rows":            func(h *format.PageHeader) { h.DataPageHeaderV2.V.NumValues++ },
		"levels":          func(h *format.PageHeader) { h.DataPageHeaderV2.V.DefinitionLevelsByteLength = h.CompressedPageSize + 1 },
		"negative levels": func(h *format.PageHeader) { h.DataPageHeaderV2.V.DefinitionLevelsByteLength = -1 },
		"size":            func(h *format.PageHeader) { h.UncompressedPageSize++ },
	} {
		for _, optional := range []bool{false, true} {
			p := doublesPage{version: 2, optional: optional}
			header, body := p.encode(t, values)
			var h format.PageHeader
			var protocol thrift.CompactProtocol
			fatal.If(t, thrift.Unmarshal(&protocol, header, &h))
			claim(&h)
			claimed, err := thrift.Marshal(&protocol, &h)
			fatal.If(t, err)
			file := slices.Concat(claimed, body, header, body)
			_, err = readDoubles(bytes.NewReader(file), p, len(file), int(h.DataPageHeaderV2.V.NumValues)+len(values), math.NaN(), math.NaN())
			if !errors.Is(err, errMalformed) || strings.Contains(err.Error(), "decoding failed") {
				t.Errorf("%s, optional %t: %v, want that it is malformed", name, optional, err)
			}
		}
	}
}
