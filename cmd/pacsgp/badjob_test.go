package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// A full disk or a failing one stops a job at each operation, one after another. What stands under a
// published name is whole, no model is seen without a certificate, nothing unfinished is left,
// and once the disk works again the same command gives the same bytes.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	repeats(t)
	job, want, _ := uninterrupted(t, "8")
	stride := 1
	if testing.Short() {
		stride = 17
	}
	for kind, failure := range map[string]error{
		durabletest.Write: syscall.ENOSPC, durabletest.Sync: syscall.ENOSPC, durabletest.Create: syscall.EDQUOT,
		durabletest.Rename: syscall.EIO, durabletest.SyncDir: syscall.EIO, durabletest.Remove: syscall.EIO,
	} {
		at := 1
		for fails(t, job, want, kind, failure, at) {
			at += stride
		}
	}
}

// fails runs a job whose operation at and all later ones of that kind fail, and then
// again. It reports whether there were as many.
func fails(t *testing.T, job string, want map[string]string, kind string, failure error, at int) bool {
	t.Helper()
	out, done, failed := t.TempDir(), 0, false
	broken := hooked(func(op durabletest.Operation, effect func() error) error {
		if op.Kind != kind {
			return effect()
		}
		if done++; done < at {
			return effect()
		}
		failed = true
		if op.Half != nil {
			op.Half()
		}
		return &os.PathError{Op: kind, Path: op.Name, Err: failure}
	})
	args := []string{"train", "-c", job, "-o", out}
	a := pacsgpOn(t, broken, args...)
	if !failed {
		return false
	}
	when := fmt.Sprintf("%s %d: %v", kind, at, failure)
	reported := strings.Contains(a.message, failure.Error()) && (errors.Is(failure, syscall.EIO) || strings.Contains(a.message, "hint: free at least"))
	if a.status != exitFailure || a.stdout != "" || !reported {
		if kind != durabletest.Remove || a.status != 0 { // what need not be removed may stay
			t.Errorf("%s: status %d, stdout %q, message %q: want what failed and nothing else", when, a.status, a.stdout, a.message)
		}
	}
	whole(t, when, out, want)
	models, documents := 0, 0
	for _, name := range names(t, out) {
		switch {
		case strings.HasSuffix(name, durable.TempSuffix) && kind != durabletest.Remove:
			t.Errorf("%s: %s is left over", when, name)
		case strings.HasPrefix(name, "model-"):
			models++
		case strings.HasSuffix(name, ".json") && strings.HasPrefix(name, "certificate-"):
			documents++
		}
	}
	if models > documents {
		t.Errorf("%s: %d models are seen and %d certificates", when, models, documents)
	}
	succeed(t, args...)
	complete(t, "after "+when, out, want)
	return true
}

// numbered joins n copies of a format, each with its number.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// mostJobBytes is the limit of a job file.
const mostJobBytes = 1 << 16

// The worst job files within the limit are read, or refused, in a time in which
// the command does not seem to hang. The bound leaves room for a slow machine.
func TestWorstJobFilesAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"keys":              numbered(7000, "c%d: 1\n"),
		"filled columns":    "fill:\n" + numbered(2000, "  c%d: 1\n"),
		"brackets":          strings.Repeat("[", mostJobBytes),
		"directives":        strings.Repeat("%", mostJobBytes),
		"comments":          strings.Repeat("#\n", mostJobBytes/2),
		"a long comment":    "#" + strings.Repeat("a", mostJobBytes-2),
		"lines":             strings.Repeat("\n", mostJobBytes),
		"blanks":            strings.Repeat(" ", mostJobBytes),
		"tabs":              strings.Repeat("\t", mostJobBytes),
		"quotes":            strings.Repeat("'", mostJobBytes),
		"a word":            strings.Repeat("a", mostJobBytes),
		"words":             strings.Repeat("a ", mostJobBytes/2),
		"dashes":            strings.Repeat("- ", mostJobBytes/2),
		"a list":            "features: [" + strings.Repeat("a,", mostJobBytes/2-100) + "]",
		"a list of lines":   "features:\n" + strings.Repeat("- a\n", mostJobBytes/4-100),
		"a block":           "target: |\n" + strings.Repeat("  a\n", mostJobBytes/4-100),
		"a text of lines":   "target: a\n" + strings.Repeat("  a\n", mostJobBytes/4-100),
		"a quoted text":     `target: "` + strings.Repeat("\\\\", mostJobBytes/2-100) + `"`,
		"a text of accents": `target: "` + strings.Repeat("é", mostJobBytes/2-100) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "job.yaml")
			writeFile(t, path, []byte(text))
			began := time.Now()
			a := pacsgp(t, "plan", "-c", path)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %v", took)
			} else {
				t.Log(took)
			}
			if a.status != exitConfig || len(a.message) > 20_000 {
				t.Errorf("status %d, %d bytes of message: %.300s", a.status, len(a.message), a.message)
			}
		})
	}
}

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
