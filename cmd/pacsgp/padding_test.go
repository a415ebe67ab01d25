package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// A padded codec writes bytes after what it compresses.
type padded struct {
	compress.Codec

	with []byte
}

func (p padded) Encode(dst, src []byte) ([]byte, error) {
	out, err := p.Codec.Encode(dst, src)
	return append(out, p.with...), err
}

// Both programs refuse bytes after a compressed page; only those after Brotli's are not seen by Arrow's library, and
// no value is in them.
func TestBytesAfterAPage(t *testing.T) {
	t.Parallel()
	type row struct {
		A float64 `parquet:"a"`
		B float64 `parquet:"b"`
		Y float64 `parquet:"y"`
	}
	in := func(name string) string { return filepath.Join(corpus, "zero-one", name) }
	rows, err := parquet.ReadFile[row](in("../rows.parquet"))
	fatal.If(t, err)
	const brotli = 5
	var calls [][]string
	for _, codec := range []compress.Codec{&parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw} {
		for _, with := range []string{"", "\x00more"} {
			var out bytes.Buffer
			w := parquet.NewGenericWriter[row](&out, parquet.Compression(padded{codec, []byte(with)}), parquet.MaxRowsPerRowGroup(400))
			_, err := w.Write(rows)
			fatal.If(t, errors.Join(err, w.Close()))
			path := filepath.Join(t.TempDir(), "rows.parquet")
			writeFile(t, path, out.Bytes())
			calls = append(calls, []string{"verify", in("model.parquet"), in("certificate.json"), path})
		}
	}
	for i, run := range verifytest.Verify(t, calls) {
		if a := pacsgp(t, calls[i]...); a.status != i%2 || run.Status != a.status && i != brotli {
			t.Errorf("file %d: status %d (%s), in Python %d: %s", i, a.status, a.message, run.Status, run.Refused)
		}
	}
}
