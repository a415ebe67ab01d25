package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A predicted row is one row of a file of predictions.
type predicted struct {
	Row         int64    `parquet:"row"`
	Mean        *float64 `parquet:"mean,optional"`
	Deviation   *float64 `parquet:"deviation,optional"`
	Predictive  *float64 `parquet:"predictive_deviation,optional"`
	Certificate *string  `parquet:"certificate,optional"`
	Reason      *string  `parquet:"reason,optional"`
	Lower       *float64 `parquet:"lower,optional"` // of an interval
	Upper       *float64 `parquet:"upper,optional"`
	X1          *float64 `parquet:"x1,optional"` // that are kept, as Y
	Y           *float64 `parquet:"y,optional"`
}

func predictions(t *testing.T, path string) []predicted {
	t.Helper()
	rows, err := parquet.ReadFile[predicted](path)
	fatal.If(t, err)
	return rows
}

// A row that breaks the rules has a reason and no number; its neighbours have
// the numbers that they would have without it.
func TestPredict(t *testing.T) {
	const n = 600 // enough that the guarantee for the mean is certified
	dir := t.TempDir()
	rows := lines(n)
	rows.write(t, lakeFile(dir, 0))
	a := retrained(t, dir, jobFile{"loss": "{epsilon: 8}"})
	output := filepath.Join(dir, "predictions.parquet")
	killed := filepath.Join(dir, durable.TempPrefix+strings.Repeat("A", 26)+durable.TempSuffix) // a call before
	writeFile(t, killed, []byte("rows"))
	pacsgp(t, "predict", a.model, a.certificate, a.lake, "-o", output).says(t, 0, "predictions of 600 rows\n")
	if _, err := os.Stat(killed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a killed call left is still there: %v", err)
	}
	good := predictions(t, output)
	if len(good) != n {
		t.Fatalf("%d predictions, want 600", len(good))
	}
	var squares float64
	for i, p := range good {
		if p.Row != int64(i) || p.Mean == nil || p.Deviation == nil || p.Reason != nil || p.Certificate == nil || *p.Certificate != a.id {
			t.Fatalf("row %d: %+v, want numbers under the certificate %s", i, p, a.id)
		}
		if !(*p.Deviation >= 0 && p.Predictive != nil && *p.Predictive > 0 && *p.Predictive < 100) {
			t.Errorf("row %d: deviation %v, with noise %v", i, *p.Deviation, p.Predictive)
		}
		d := *p.Mean - rows["y"].([]float64)[i]
		squares += d * d
	}
	if rms := math.Sqrt(squares / n); !(rms < 4) {
		t.Errorf("root mean squared error %v on rows of a plane that spans 0 to 24", rms)
	}

	// Draws have other means, no predictive deviation, and the certificate that is about them.
	succeed(t, "predict", a.model, a.certificate, a.lake, "-o", output, "--gibbs")
	for i, p := range predictions(t, output) {
		if p.Mean == nil || *p.Mean == *good[i].Mean || p.Deviation == nil || p.Predictive != nil || p.Certificate == nil || *p.Certificate != a.id {
			t.Fatalf("row %d: a draw is %+v", i, p)
		}
	}
	pacsgp(t, "predict", a.model, a.certificate, a.lake, "-o", output, "--gibbs", "--interval", "0.9").says(t, exitUsage, "--gibbs")

	// Without the target, in two files, with bad cells.
	bad := map[int]string{11: "x1 is NaN", 12: "x2 is null", 60: "x1 is infinite", 599: "x1 is infinite; x2 is null"}
	x1, x2 := make([]float64, n), make([]any, n)
	for i := range n {
		x1[i], x2[i] = rows["x1"].([]float64)[i], rows["x2"].([]float64)[i]
	}
	x1[11], x1[60], x1[599], x2[12], x2[599] = math.NaN(), math.Inf(1), math.Inf(-1), nil, nil
	x1[300] = 1e6 // far from all others
	marred := filepath.Join(dir, "marred")
	table{"x2": x2[:40], "x1": x1[:40], "note": make([]string, 40)}.write(t, filepath.Join(marred, "a.parquet"))
	table{"x1": x1[40:], "x2": x2[40:]}.write(t, filepath.Join(marred, "b.parquet"))
	pacsgp(t, "predict", a.model, a.certificate, marred, "-o", output).says(t, 0, "600 rows, 4 without one")
	for i, p := range predictions(t, output) {
		reason, isBad := bad[i]
		switch {
		case i == 300:
		case isBad && (p.Mean != nil || p.Deviation != nil || p.Certificate != nil || p.Reason == nil || *p.Reason != reason):
			t.Errorf("row %d: %+v, want nulls and the reason %q", i, p, reason)
		case !isBad && (p.Reason != nil || *p.Mean != *good[i].Mean || *p.Deviation != *good[i].Deviation || *p.Certificate != a.id):
			t.Errorf("row %d: other numbers than next to good rows", i)
		}
	}
	pacsgp(t, "predict", a.model, a.certificate, marred, "-o", output, "--json").says(t, 0, `"rows_extrapolated": 1,`) // one far row
}

// What nothing is certified about carries no certificate: the draw's guarantee
// is not about the mean that is written.
func TestPredictionsOfAVacuousMeanCarryNoCertificate(t *testing.T) {
	dir := smallLake(t)
	a := retrained(t, dir, jobFile{"grid": "paper"})
	output := filepath.Join(t.TempDir(), "predictions.parquet")
	pacsgp(t, "predict", a.model, a.certificate, a.lake, "-o", output).logs(t, 0, "carry no certificate id", "Nothing useful is certified about predictions")
	for i, p := range predictions(t, output) {
		if p.Mean == nil || p.Certificate != nil {
			t.Fatalf("row %d: %+v, want a mean and no certificate", i, p)
		}
	}
}

// Columns of the data stand next to the predictions, row by row: those of files, of any type, and keys of
// paths, also next to an interval's ends.
func TestPredictPassesColumnsThrough(t *testing.T) {
	dir := smallLake(t)
	succeed(t, "train", "-c", tiny(nil).write(t, dir))
	var want []string
	for day := range 2 {
		var ids []int64
		for i := range 30 + day {
			ids = append(ids, int64(100*day+i))
			want = append(want, fmt.Sprintf("%d %d", 100*day+i, day))
		}
		folder := filepath.Join(dir, "new", fmt.Sprintf("day=%d", day))
		fatal.If(t, os.MkdirAll(folder, 0o755))
		x := slices.Repeat([]float64{.5}, len(ids))
		table{"x1": x, "x2": x, "id": ids}.write(t, filepath.Join(folder, "a.parquet"))
	}
	to := filepath.Join(dir, "p.parquet")
	succeed(t, "predict", filepath.Join(dir, "out"), filepath.Join(dir, "new"), "-o", to, "--passthrough", "id,day")
	rows, err := parquet.ReadFile[struct {
		Row  int64    `parquet:"row"`
		Mean *float64 `parquet:"mean,optional"`
		ID   int64    `parquet:"id,optional"`
		Day  string   `parquet:"day,optional"`
	}](to)
	fatal.If(t, err)
	var got []string
	for i, r := range rows {
		if r.Row != int64(i) || r.Mean == nil {
			t.Errorf("row %d is %+v", i, r)
		}
		got = append(got, fmt.Sprintf("%d %s", r.ID, r.Day))
	}
	if !slices.Equal(got, want) {
		t.Errorf("passed through %q, want %q", got, want)
	}
	pacsgp(t, "predict", filepath.Join(dir, "out"), filepath.Join(dir, "new"), "-o", to, "--passthrough", "mean").says(t, exitUsage, `"mean" is already a column of the predictions`)
	pacsgp(t, "predict", filepath.Join(dir, "out"), filepath.Join(dir, "new"), "-o", to, "--passthrough", "none").says(t, exitFailure, "none")
}
