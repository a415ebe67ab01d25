package main

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// indexedColumns are those of a file that have a dictionary.
func indexedColumns(t *testing.T, path string) (names []string) {
	t.Helper()
	data := readFile(t, path)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	fatal.If(t, err)
	for _, c := range f.Metadata().RowGroups[0].Columns {
		if slices.Contains(c.MetaData.Encoding, format.RLEDictionary) {
			names = append(names, strings.Join(c.MetaData.PathInSchema, "."))
		}
	}
	return names
}

// What is kept stands beside the predictions as it stood in the file: integers that no
// float64 holds, texts, times and nulls, with their types; a key in the path is a text.
func TestScoreKeepsColumnsAsTheyAre(t *testing.T) {
	type row struct {
		X1   float64   `parquet:"x1"`
		X2   float64   `parquet:"x2"`
		ID   int64     `parquet:"id"`
		Code *uint64   `parquet:"code,optional"`
		Name *string   `parquet:"name,optional,dict"`
		At   time.Time `parquet:"at,timestamp(microsecond)"`
		Kind string    `parquet:"kind,dict"`
	}
	type keptRow struct {
		Mean *float64   `parquet:"mean,optional"`
		ID   *int64     `parquet:"id,optional"`
		Code *uint64    `parquet:"code,optional"`
		Name *string    `parquet:"name,optional"`
		At   *time.Time `parquet:"at,optional,timestamp(microsecond)"`
		Day  *string    `parquet:"day,optional"`
		Kind *string    `parquet:"kind,optional"`
	}
	dir, _, score := following(t, 1, 20)
	writeFile(t, score, []byte("model: out\nsource: {paths: [rows]}\nkeep: [id, code, name, at, day, kind]\noutput: scored\n"))
	rows, kinds := make([]row, 20_000), []string{"cargo", "charter", "a scheduled flight"}
	for i := range rows {
		code, name := uint64(math.MaxUint64)-uint64(i), fmt.Sprintf("ü \"%d\", %d", i%90, i)
		rows[i] = row{float64(i%97) / 97, float64(i%89) / 89, 1<<53 + 1 + 2*int64(i), &code, &name, time.UnixMicro(1<<52 + int64(i)).UTC(), kinds[i%len(kinds)]}
		if i%5 == 0 {
			rows[i].Code, rows[i].Name = nil, nil
		}
	}
	var file bytes.Buffer
	fatal.If(t, parquet.Write(&file, rows, parquet.MaxRowsPerRowGroup(7001)))
	writeFile(t, filepath.Join(dir, "rows", "day=007", "a.parquet"), file.Bytes())
	succeed(t, "score", "-c", score, "--once")
	found, err := filepath.Glob(filepath.Join(dir, "scored", "rows", "day=007", "*.parquet"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	got, err := parquet.ReadFile[keptRow](found[0])
	if err != nil || len(got) != len(rows) {
		t.Fatal(len(got), err)
	}
	day := "007"
	for i, r := range rows {
		if diff := cmp.Diff(keptRow{got[i].Mean, &r.ID, r.Code, r.Name, &r.At, &day, &r.Kind}, got[i]); diff != "" || got[i].Mean == nil {
			t.Fatalf("row %d: %s", i, diff)
		}
	}
	if got := indexedColumns(t, found[0]); !slices.Equal(got, []string{"certificate", "reason", "name", "day", "kind"}) {
		t.Errorf("columns with a dictionary are %v", got)
	}
	writeFile(t, filepath.Join(dir, "more", "id=7", "a.parquet"), file.Bytes())
	writeFile(t, score, []byte("model: out\nsource: {paths: [more]}\nkeep: [id]\noutput: others\n"))
	if a := pacsgp(t, "score", "-c", score, "--once"); a.status != exitFailure || !strings.Contains(a.log, `has 2 columns named \"id\", one of them a key of its path; rename or remove all but one`) {
		t.Errorf("status %d: %s", a.status, a.log)
	}
	writeFile(t, score, []byte("model: out\nsource: {paths: [rows]}\nkeep: [none]\noutput: others\n"))
	if a := pacsgp(t, "score", "-c", score, "--once"); a.status != exitFailure || !strings.Contains(a.log, `has no column`) {
		t.Errorf("status %d: %s", a.status, a.log)
	}
}
