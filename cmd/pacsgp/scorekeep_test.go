package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// What is kept stands next to the predictions as it stood in the file: integers that no float64
// holds, texts and nulls; a key in the path is a text. (Each type: TestStoredOfAllTypes.)
func TestScoreKeepsColumnsAsTheyAre(t *testing.T) {
	type row struct {
		X1   float64 `parquet:"x1"`
		X2   float64 `parquet:"x2"`
		ID   int64   `parquet:"id"`
		Name *string `parquet:"name,optional,dict"`
	}
	type keptRow struct {
		Mean *float64 `parquet:"mean,optional"`
		ID   *int64   `parquet:"id,optional"`
		Name *string  `parquet:"name,optional"`
		Day  *string  `parquet:"day,optional"`
	}
	dir, _, score := following(t, 1, 20)
	writeFile(t, score, []byte("model: out\nsource: {paths: [rows]}\npassthrough: [id, name, day]\noutput: scored\n"))
	rows := make([]row, 20_000)
	for i := range rows {
		name := fmt.Sprintf("ü \"%d\", %d", i%90, i)
		rows[i] = row{float64(i%97) / 97, float64(i%89) / 89, 1<<53 + 1 + 2*int64(i), &name}
		if i%5 == 0 {
			rows[i].Name = nil
		}
	}
	var file bytes.Buffer
	fatal.If(t, parquet.Write(&file, rows, parquet.MaxRowsPerRowGroup(7001)))
	writeFile(t, filepath.Join(dir, "rows", "day=007", "a.parquet"), file.Bytes())
	succeed(t, "score", "-c", score, "--once")
	got, err := parquet.ReadFile[keptRow](only(t, filepath.Join(dir, "scored", "rows", "day=007", "*.parquet")))
	if err != nil || len(got) != len(rows) {
		t.Fatal(len(got), err)
	}
	day := "007"
	for i, r := range rows {
		if diff := cmp.Diff(keptRow{got[i].Mean, &r.ID, r.Name, &day}, got[i]); diff != "" || got[i].Mean == nil {
			t.Fatalf("row %d: %s", i, diff)
		}
	}
	writeFile(t, score, []byte("model: out\nsource: {paths: [rows]}\npassthrough: [none]\noutput: others\n"))
	if a := pacsgp(t, "score", "-c", score, "--once"); a.status != exitFailure || !strings.Contains(a.log, `has no column`) {
		t.Errorf("status %d: %s", a.status, a.log)
	}
}
