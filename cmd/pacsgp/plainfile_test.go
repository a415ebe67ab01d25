package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Both verifiers read a model file in PLAIN alone: packed, or by a dictionary, some bytes could stand for any
// number of values. A key of its footer has one value.
func TestModelFilesOfOtherKindsAreRefused(t *testing.T) {
	t.Parallel()
	verifytest.Need(t)
	a := trained(t)
	dir := t.TempDir()
	verifytest.Script(t, `
import sys
import pyarrow.parquet as pq
f = pq.ParquetFile(sys.argv[1])
table, meta = f.read().replace_schema_metadata(None), f.schema_arrow.metadata[b"pacsgp"].decode()
for name, twice, how in (("plain", False, {}), ("packed", False, {"compression": "zstd"}), ("dictionary", False, {"use_dictionary": True}), ("split", False, {"use_byte_stream_split": True}), ("twice", True, {})):
    w = pq.ParquetWriter(sys.argv[2] + "/" + name, table.schema, store_schema=False, **{"compression": "none", "use_dictionary": False, **how})
    w.write_table(table)
    if twice:
        w.add_key_value_metadata({"pacsgp": meta})
    w.add_key_value_metadata({"pacsgp": meta.replace(" ", "  ") if twice else meta, "pacsgp-sha256": "0" * 64})
    w.close()
`, a.model, dir)
	document := readFile(t, a.certificate)
	digest := func(data []byte) string { sum := sha256.Sum256(data); return hex.EncodeToString(sum[:]) }
	var calls [][]string
	names := []string{"plain", "packed", "dictionary", "split", "twice"}
	for _, name := range names {
		data, seal := readFile(t, filepath.Join(dir, name)), []byte("pacsgp-sha256\x18\x40")
		copy(data[bytes.LastIndex(data, seal)+len(seal):], digest(data))
		writeFile(t, filepath.Join(dir, name), data)
		certificate := filepath.Join(dir, name+".json")
		writeFile(t, certificate, bytes.ReplaceAll(document, []byte(digest(readFile(t, a.model))), []byte(digest(data))))
		calls = append(calls, []string{"verify", filepath.Join(dir, name), certificate})
	}
	for i, other := range verifytest.Verify(t, calls) {
		want := exitFailure
		if names[i] == "plain" {
			want = exitNotCertified
		}
		if mine := pacsgp(t, calls[i]...); mine.status != want || other.Status != want {
			t.Errorf("%s: status %d, and %d in Python, want %d: %s; %s", names[i], mine.status, other.Status, want, mine.message, other.Out)
		}
	}
}

// Rows far from the others are no places for inducing points. A job that lists more than there are others
// is certified, and verified, with fewer.
func TestFewerInducingPointsThanListed(t *testing.T) {
	t.Parallel()
	verifytest.Need(t)
	dir := t.TempDir()
	rows := lines(60)
	for i := range 12 { // far ones, all of them different
		rows["x1"].([]float64)[5*i] = 1e6 + float64(i)
	}
	rows.write(t, lakeFile(dir, 0))
	a := retrained(t, dir, jobFile{"inducing": "59", "features": "[x1, x2]", "loss": "{epsilon: 30}"})
	calls := [][]string{{"verify", a.model, a.certificate, a.lake, "--judge", "draw"}, {"verify", a.model, a.certificate, a.lake}}
	mine, other := pacsgp(t, calls[0]...), verifytest.Verify(t, calls[1:])[0]
	if mine.status == exitFailure || other.Status == exitFailure {
		t.Errorf("an honest certificate is refused: %s; %s", mine.message, other.Out)
	}
}

// The pointer says what its bound is worth.
func TestPointerSaysConditional(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	smallLake(t, dir)
	a := retrained(t, dir, jobFile{"guarantees": "[pac-bayes, holdout]"})
	current, err := lake.ReadPointer(nil, a.out)
	fatal.If(t, err)
	if r := record(t, a.out); current == nil || current.Status != r.Status || current.Bound != r.Bound {
		t.Error(fmt.Sprint("the pointer says ", current, ", the record ", r.Status, r.Bound))
	}
}
