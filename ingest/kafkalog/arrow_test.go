package kafkalog

import (
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
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/ingest"
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

func TestArrow(t *testing.T) {
	batches := [][]float64{{1, 2, 3}, {}, {4, 5}}
	want := []float64{1, 2, 3, 4, 5}
	for name, options := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
		columns := make([][]float64, 4)
		n, err := (&arrowReader{names: []string{"x", "in.y", "time", "d"}}).read(ipcStream(t, batches, options...), columns)
		if err != nil || n != 5 {
			t.Fatalf("%s: %d rows, %v", name, n, err)
		}
		for j := range 3 {
			if !slices.Equal(columns[j], want) {
				t.Errorf("%s: column %d: %v, want %v", name, j, columns[j], want)
			}
		}
		if d := []float64{1, 2, 0, 1, 2}; !slices.Equal(columns[3], d) {
			t.Errorf("%s: dictionary: %v, want %v", name, columns[3], d)
		}
	}
	columns := make([][]float64, 1)
	if _, err := (&arrowReader{names: []string{"x"}}).read(ipcStream(t, [][]float64{{1, math.NaN(), 1 << 60, 1<<53 + 2, 1 << 53}}), columns); err != nil {
		t.Fatal(err)
	}
	for i, want := range []ingest.Fault{ingest.None, ingest.Null, ingest.TooLong, ingest.TooLong, ingest.None} {
		if got := ingest.FaultOf(columns[0][i]); got != want {
			t.Errorf("value %d: %v, want %v", i, got, want)
		}
	}
	for name, want := range map[string]string{"text": "not read as numbers", "none": "0 columns"} {
		if _, err := (&arrowReader{names: []string{name}}).read(ipcStream(t, batches), make([][]float64, 1)); err == nil || !strings.Contains(err.Error(), want) {
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
		_, _ = (&arrowReader{names: []string{"x", "in.y", "d"}}).read(damaged, make([][]float64, 3)) // what a flip leaves may be a stream
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) / 2000; took > maxArrowBytes/4 {
		t.Errorf("%d MiB a stream", took>>20)
	}
}

// TestArrowWindow: records of several rows are cut into segments between records.
func TestArrowWindow(t *testing.T) {
	c := newCluster(t, 1)
	p := c.producer(t)
	var want [][2]float64
	for i := range 10 {
		var values []float64
		for j := range 30 {
			v := float64(100*i + j)
			values = append(values, v)
			want = append(want, [2]float64{v, v})
		}
		produce(t, p, &kgo.Record{Value: ipcStream(t, [][]float64{values[:7], values[7:]})})
	}
	cfg := c.config(t)
	cfg.Format = FormatArrow
	w, err := Spool(t.Context(), cfg)
	fatal.If(t, err)
	if g := w.Segments[1]; len(w.Segments) != 4 || g.Rows != 90 || g.First != 3 || g.End != 6 {
		t.Errorf("segments %+v", w.Segments)
	}
	rows, digests := values(t, w)
	if !slices.Equal(rows, want) {
		t.Error("the rows are not those that were produced")
	}
	cfg.Folder = t.TempDir()
	again, err := Replay(t.Context(), cfg, w.Segments)
	fatal.If(t, err)
	if _, got := values(t, again); !slices.Equal(got, digests) {
		t.Error("replayed, the rows have other digests")
	}
}

// FuzzArrow: no bytes panic or take more than the limit.
func FuzzArrow(f *testing.F) {
	f.Add(ipcStream(f, [][]float64{{1, 2, 3}, {4, 5}}))
	f.Add(ipcStream(f, [][]float64{{1}}, ipc.WithLZ4()))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = (&arrowReader{names: []string{"x", "in.y", "d", "time"}}).read(data, make([][]float64, 4)) // any outcome but a panic
	})
}
