package kafkalog

import (
	"bufio"
	"bytes"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// stream is an Arrow IPC stream of batches of one column in several types.
func ipcStream(t testing.TB, batches [][]float64, options ...ipc.Option) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "in.y", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Float64}},
		{Name: "time", Type: arrow.FixedWidthTypes.Timestamp_us},
	}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(options, ipc.WithSchema(schema))...)
	for _, values := range batches {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, v := range values {
			if math.IsNaN(v) {
				b.Field(0).AppendNull()
				b.Field(2).AppendNull()
			} else {
				b.Field(0).(*array.Float32Builder).Append(float32(v))
				b.Field(2).(*array.Int64Builder).Append(int64(v))
			}
			b.Field(1).(*array.StringBuilder).Append("text")
			fatal.If(t, b.Field(3).(*array.Float64DictionaryBuilder).Append(math.Mod(v, 3)))
			b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(v * 1e6))
		}
		record := b.NewRecord()
		fatal.If(t, w.Write(record))
		record.Release()
		b.Release()
	}
	fatal.If(t, w.Close())
	return out.Bytes()
}

// readArrow reads columns of a stream.
func readArrow(t *testing.T, names []string, data []byte) ([][]float64, error) {
	t.Helper()
	cfg := Config{Columns: names, piped: true, segmentRows: MaxSegmentRows}
	r := &streamReader{spool: &spool{cfg: cfg}, block: newBlock(cfg)}
	err := r.arrow(t.Context(), bufio.NewReader(bytes.NewReader(data)))
	return r.block.columns, err
}

func TestArrow(t *testing.T) {
	batches := [][]float64{{1, 2, 3}, {}, {4, 5}}
	want := []float64{1, 2, 3, 4, 5}
	for name, options := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
		columns, err := readArrow(t, []string{"x", "in.y", "time", "d"}, ipcStream(t, batches, options...))
		fatal.If(t, err)
		for j := range 3 {
			if !slices.Equal(columns[j], want) {
				t.Errorf("%s: column %d: %v, want %v", name, j, columns[j], want)
			}
		}
		if d := []float64{1, 2, 0, 1, 2}; !slices.Equal(columns[3], d) {
			t.Errorf("%s: dictionary: %v, want %v", name, columns[3], d)
		}
	}
	for want, values := range map[string][]float64{
		"row 1: column \"x\" is null":         {1, math.NaN()},
		"row 2: column \"x\" has more digits": {1, 1 << 53, 1<<53 + 2},
	} {
		if _, err := readArrow(t, []string{"x"}, ipcStream(t, [][]float64{values})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", values, err, want)
		}
	}
	for name, want := range map[string]string{"text": "not read as numbers", "none": "0 columns"} {
		if _, err := readArrow(t, []string{name}, ipcStream(t, batches)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestDamagedArrow: damaged streams are errors or other values, and never take more
// memory than the limit.
func TestDamagedArrow(t *testing.T) {
	whole := ipcStream(t, [][]float64{{1, 2, 3}, {4, 5}}, ipc.WithZstd())
	rng := rand.New(rand.NewPCG(5, 6))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 2000 {
		damaged := slices.Clone(whole)
		switch i % 4 {
		case 0:
			damaged = damaged[:rng.IntN(len(damaged))]
		case 1:
			damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
		case 2: // a huge length somewhere
			at := rng.IntN(len(damaged) - 8)
			copy(damaged[at:], []byte{0xFF, 0xFF, 0xFF, 0x3F, 0, 0, 0, 0}[:4+4*rng.IntN(2)])
		default:
			at := rng.IntN(len(damaged) - 16)
			clear(damaged[at : at+16])
		}
		_, _ = readArrow(t, []string{"x", "in.y", "d"}, damaged) // what a flip leaves may be a stream
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) / 2000; took > maxArrowBytes/4 {
		t.Errorf("%d MiB a stream", took>>20)
	}
}
