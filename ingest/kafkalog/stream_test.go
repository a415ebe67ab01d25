package kafkalog

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// arrowStream is an Arrow IPC stream of rows (x, in.y) and a text, in batches of so many
// rows.
func arrowStream(t testing.TB, rows [][2]float64, batch int, options ...ipc.Option) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "note", Type: arrow.BinaryTypes.String}, {Name: "in.y", Type: arrow.PrimitiveTypes.Float64}, {Name: "x", Type: arrow.PrimitiveTypes.Int32},
	}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append([]ipc.Option{ipc.WithSchema(schema)}, options...)...)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for part := range slices.Chunk(rows, batch) {
		for _, r := range part {
			b.Field(0).(*array.StringBuilder).Append("text")
			b.Field(1).(*array.Float64Builder).Append(r[1])
			b.Field(2).(*array.Int32Builder).Append(int32(r[0]))
		}
		record := b.NewRecord()
		fatal.If(t, w.Write(record))
		record.Release()
	}
	fatal.If(t, w.Close())
	return out.Bytes()
}

func streamed(t testing.TB, from io.Reader) (*Window, error) {
	t.Helper()
	return SpoolStream(t.Context(), Config{Columns: []string{"x", "in.y"}, Folder: filepath.Join(t.TempDir(), "spool"), segmentRows: 100}, from)
}

// The rows of a stream and their digests do not depend on its format, its batches or the
// pieces in which it arrives.
func TestStreamsOfTheSameRows(t *testing.T) {
	rows := make([][2]float64, 0, 1234)
	var lines strings.Builder
	for i := range 1234 {
		rows = append(rows, [2]float64{float64(i), 1 / float64(i+1)})
		fmt.Fprintf(&lines, "{\"x\":%v,\"in\":{\"y\":%v}}\n\n", rows[i][0], rows[i][1])
	}
	for name, in := range map[string]io.Reader{
		"JSON":             strings.NewReader(lines.String()),
		"JSON in pieces":   iotest.HalfReader(strings.NewReader(strings.TrimSpace(lines.String()))),
		"Arrow":            bytes.NewReader(arrowStream(t, rows, 1234)),
		"Arrow, zstd":      bytes.NewReader(arrowStream(t, rows, 101, ipc.WithZstd())),
		"Arrow, lz4":       iotest.OneByteReader(bytes.NewReader(arrowStream(t, rows, 7, ipc.WithLZ4()))),
		"Arrow, in pieces": iotest.HalfReader(bytes.NewReader(arrowStream(t, rows, 100))),
	} {
		w, err := streamed(t, in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(w.Paths) != 13 || w.Segments != nil {
			t.Errorf("%s: %d files and the segments %v, want 13 and none", name, len(w.Paths), w.Segments)
		}
		if got, _ := values(t, w); !slices.Equal(got, rows) {
			t.Errorf("%s: %d rows that are not those that were sent", name, len(got))
		}
	}
}

// A stream that is cut off, damaged, of another kind or empty is an error.
func TestBrokenStreams(t *testing.T) {
	whole := arrowStream(t, [][2]float64{{1, 2}, {3, 4}, {5, 6}}, 1)
	for n := range whole {
		if n == len(whole) {
			break
		}
		if _, err := streamed(t, bytes.NewReader(whole[:n])); err == nil {
			t.Errorf("the first %d of %d bytes of an Arrow stream are no error", n, len(whole))
		}
	}
	for want, text := range map[string]string{
		"nothing came":       "",
		"line 2":             "{\"x\":1,\"in\":{\"y\":2}}\n{\"x\":1,\"in\":{\"y\":null}}",
		"Arrow file":         "ARROW1\x00\x00",
		"Parquet":            "PAR1....",
		"bytes behind":       string(whole) + "x",
		"longer than 16 MiB": strings.Repeat(" ", maxLine+1),
		"no JSON object":     "x,y\n1,2\n",
		"line 1: it is no":   "[{\"x\":1}]",
	} {
		if _, err := streamed(t, strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want an error with %q", text, err, want)
		}
	}
}

// FuzzStream: whatever arrives is an error or rows, and never more memory than it may take.
func FuzzStream(f *testing.F) {
	f.Add(arrowStream(f, [][2]float64{{1, 2}, {3, 4}}, 1, ipc.WithZstd()))
	f.Add([]byte("{\"x\":1,\"in\":{\"y\":2}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := streamed(t, bytes.NewReader(data))
		if err == nil && w.Rows() != 0 {
			t.Errorf("rows of segments: %v", w.Segments)
		}
	})
}
