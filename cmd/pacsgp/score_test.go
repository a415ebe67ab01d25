package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// following is a folder with two models of a tiny job and their pointers, and rows to
// score in new/, so many files of so many.
func following(t testing.TB, files int, rows int64) (dir string, pointers [2][]byte, score string) {
	t.Helper()
	dir = smallLake(t)
	for i, passes := range []string{"{passes: 2}", "{passes: 2, seed: 2}"} {
		succeed(t, "train", "-c", tiny(jobFile{"train": passes}).write(t, dir))
		pointers[i] = readFile(t, filepath.Join(dir, "out", sinklake.CurrentFile))
	}
	point(t, dir, pointers[0])
	fatal.If(t, smallRows(t).WriteLake(t.Context(), filepath.Join(dir, "new"), files, 1000, rows*int64(files)))
	score = filepath.Join(dir, "score.yaml")
	writeFile(t, score, []byte("model: out\nsource: {paths: [new]}\npassthrough: [y, x1]\noutput: scored\npoll: 10ms\n"))
	return dir, pointers, score
}

// point replaces the pointer as train does: in one step.
func point(t testing.TB, dir string, pointer []byte) {
	t.Helper()
	p, err := durable.Create(durable.OS{}, filepath.Join(dir, "out", sinklake.CurrentFile))
	fatal.If(t, err)
	if _, err := p.Write(pointer); err != nil {
		t.Fatal(err)
	}
	fatal.If(t, p.Commit())
}

// A pointer is current.json, as its readers see it.
type pointer struct {
	ID          string `json:"id"`
	Certificate string `json:"certificate"`
	Model       string `json:"model"`
}

func pointed(t *testing.T, document []byte) (p pointer) {
	t.Helper()
	fatal.If(t, json.Unmarshal(document, &p))
	return p
}

// scored are the files of predictions below a folder, by the name of the input file.
func scored(t *testing.T, dir string) map[string][]predicted {
	t.Helper()
	found := map[string][]predicted{}
	err := filepath.WalkDir(filepath.Join(dir, "scored"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "_") {
			return err
		}
		name := e.Name()[:len(e.Name())-len("-0123456789abcdef.parquet")]
		if found[name] != nil {
			t.Errorf("%s is predicted twice", name)
		}
		found[name] = predictions(t, path)
		return err
	})
	fatal.If(t, err)
	return found
}

// expected are the predictions of both models, by certificate and name of the file, as
// predict makes them.
func expected(t *testing.T, dir string, pointers [2][]byte) map[string]map[string][]predicted {
	t.Helper()
	all := map[string]map[string][]predicted{}
	inputs := found(t, dir, "new", "*.parquet")
	for _, document := range pointers {
		p := pointed(t, document)
		all[p.ID] = map[string][]predicted{}
		for _, in := range inputs {
			to := filepath.Join(dir, "expected.parquet")
			succeed(t, "predict", filepath.Join(dir, "out", p.Model), filepath.Join(dir, "out", p.Certificate), in, "-o", to)
			all[p.ID][strings.TrimSuffix(filepath.Base(in), ".parquet")] = predictions(t, to)
		}
	}
	return all
}

// agree compares predictions with those of the model that they name.
func agree(t *testing.T, got map[string][]predicted, want map[string]map[string][]predicted) map[string]int {
	t.Helper()
	files := map[string]int{}
	for name, rows := range got {
		id := ""
		for i, r := range rows {
			if r.Certificate == nil {
				t.Fatalf("%s, row %d: no certificate", name, i)
			}
			if id == "" {
				id = *r.Certificate
			}
			r.X1, r.Y = nil, nil // predict keeps neither
			if diff := cmp.Diff(want[id][name][i], r); diff != "" {
				t.Fatalf("%s, row %d is not what the model of %.8s… predicts:\n%s", name, i, id, diff)
			}
		}
		files[id]++
	}
	return files
}

func TestScoreFollowsThePointer(t *testing.T) {
	dir, pointers, score := following(t, 3, 40)
	want := expected(t, dir, pointers)
	pacsgp(t, "score", "-c", score, "--once").says(t, 0, "predictions of 3 new files, 120 rows\n")
	got := scored(t, dir)
	if files := agree(t, got, want); len(got) != 3 || files[pointed(t, pointers[0]).ID] != 3 {
		t.Errorf("%d files, by model %v", len(got), files)
	}
	rows, err := parquet.ReadFile[struct {
		X1 float64 `parquet:"x1"`
		Y  float64 `parquet:"y"`
	}](filepath.Join(dir, "new", "part-01.parquet"))
	fatal.If(t, err)
	for i, r := range got["part-01"] {
		if *r.X1 != rows[i].X1 || *r.Y != rows[i].Y {
			t.Fatalf("row %d: next to it stand %v and %v, want %v", i, *r.X1, *r.Y, rows[i])
		}
	}

	// A new champion predicts what comes, and nothing again.
	point(t, dir, pointers[1])
	writeFile(t, filepath.Join(dir, "new", "later.parquet"), readFile(t, filepath.Join(dir, "new", "part-00.parquet")))
	want = expected(t, dir, pointers)
	pacsgp(t, "score", "-c", score, "--once").says(t, 0, "predictions of 1 new file, 40 rows")
	if files := agree(t, scored(t, dir), want); files[pointed(t, pointers[0]).ID] != 3 || files[pointed(t, pointers[1]).ID] != 1 {
		t.Errorf("by model %v", files)
	}

	// The predictions of a file that is replaced go, if that is declared.
	writeFile(t, score, append(readFile(t, score), "replaced: remove\n"...))
	writeFile(t, filepath.Join(dir, "new", "later.parquet"), readFile(t, filepath.Join(dir, "new", "part-01.parquet")))
	pacsgp(t, "score", "-c", score, "--once").logs(t, 0, "later.parquet was replaced: the predictions of its earlier content are removed")
	if got := scored(t, dir); len(got) != 4 {
		t.Errorf("%d files have predictions, want 4", len(got))
	}
}

// A row that breaks the rules has nulls and a reason; a null in a kept column is none.
func TestScoreOfRejectedRows(t *testing.T) {
	dir, _, score := following(t, 1, 40)
	y, x1 := make([]any, 30), make([]any, 30)
	for i := range 30 {
		y[i], x1[i] = float64(i), float64(i)/30
	}
	y[3], x1[4] = nil, nil
	x2 := make([]float64, 30)
	table{"x1": x1, "x2": x2, "y": y}.write(t, filepath.Join(dir, "new", "bad.parquet"))
	pacsgp(t, "score", "-c", score, "--once").says(t, 0, "70 rows, 1 without one")
	rows := scored(t, dir)["bad"]
	if r := rows[3]; r.Mean == nil || r.Y != nil || r.X1 == nil {
		t.Errorf("a null next to a row: %+v", r)
	}
	if r := rows[4]; r.Mean != nil || r.Certificate != nil || r.Reason == nil || *r.Reason != "x1 is null" || *r.Y != 4 {
		t.Errorf("a null in a feature: %+v", r)
	}
	// A file that cannot be read stops no other one.
	writeFile(t, filepath.Join(dir, "new", "a.parquet"), []byte("PAR1 and no more PAR1"))
	table{"x1": x2, "x2": x2, "y": x2}.write(t, filepath.Join(dir, "new", "good.parquet"))
	pacsgp(t, "score", "-c", score, "--once").says(t, exitFailure, "1 file could not be predicted")
	if len(scored(t, dir)["good"]) != 30 {
		t.Error("the file behind it has no predictions")
	}
}

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
	pacsgp(t, "score", "-c", score, "--once").logs(t, exitFailure, "has no column")
}

// A scorer of files that is to end in the middle of a file ends without an error; with
// --once it was not done, and says so.
func TestScoreInterrupted(t *testing.T) {
	dir := smallLake(t)
	succeed(t, "train", "-c", tiny(nil).write(t, dir))
	score := filepath.Join(dir, "score.yaml")
	writeFile(t, score, []byte("model: out\nsource: {paths: [lake]}\noutput: scored\n"))
	for once, want := range map[string]int{"": 0, "--once": exitInterrupted} {
		ctx, end := context.WithCancel(t.Context())
		ends := hooked(func(op durabletest.Operation, effect func() error) error {
			if op.Kind == durabletest.Create && strings.Contains(op.Name, "scored") {
				end()
			}
			return effect()
		})
		args := []string{"score", "-c", score}
		if once != "" {
			args = append(args, once)
		}
		if err := run(ctx, args, testSystem(discard{}, discard{}, ends)); err == nil && want != 0 || err != nil && status(err) != want {
			t.Errorf("score %s: %v", once, err)
		}
		if ctx.Err() == nil {
			t.Error("it was not interrupted")
		}
		end()
	}
}

// Every documented metric of score is there and moves: rows wait while there is no model, and
// no more when there is one.
func TestDocumentedMetricsOfScoreMove(t *testing.T) {
	t.Parallel()
	s := topicOf(t, cluster(t).ListenAddrs()[0], 60, "serve: {listen: '127.0.0.1:0'}\n")
	s.send(t)
	fatal.If(t, (durable.OS{}).Remove(filepath.Join(s.dir, "out", sinklake.CurrentFile)))
	r := startCommand(t, "score", "-c", s.score)
	at := r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
	until := func(what string, is func(found map[string]float64) bool) (found map[string]float64) {
		t.Helper()
		if !within(time.Minute, func() bool { found = scrape(t, at); return is(found) }) {
			t.Fatalf("%s: %v", what, found)
		}
		return found
	}
	until("rows that wait", func(found map[string]float64) bool {
		return found["pacsgp_group_lag_offsets"] == 60 && found["pacsgp_member_partitions"] == 2
	})
	point(t, s.dir, s.pointers[0])
	found := until("no row that waits", func(found map[string]float64) bool {
		return found["pacsgp_group_lag_offsets"] == 0 && found["pacsgp_predictions_total"] == 60
	})
	found["pacsgp_prediction_failed_files"] = 1 // not of a topic
	moved(t, found, documentedMetrics(t, "`pacsgp score` has these:", "`pacsgp schedule`"), "pacsgp_group_lag_offsets", "pacsgp_group_poll_errors_total")
	r.end(t)
}
