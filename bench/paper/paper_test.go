package main

import (
	"encoding/csv"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

var page = filepath.Join("..", "..", "docs", "explanation", "paper.md")

// data is the folder of the real data, without which a test is skipped.
func data(t *testing.T) string {
	t.Helper()
	return filepath.Dir(fatal.Data(t, "boston"))
}

// Each experiment, as short as can be, writes tables of finite numbers and figures that
// open; and what is there already is not computed again.
func TestExperiments(t *testing.T) {
	base := options{data: data(t), reps: 1, evaluations: 2, inducing: 20, page: page}
	for name, c := range map[string]struct {
		only string
		rows int // of the table, without its head
	}{
		"boston":         {"ε 0.6 ", 4},
		"sparse":         {"kin40k ε 0.6 VFE ARD", 2},
		"inducing":       {"pol ε 0.6 VFE ARD", 5},
		"exp-loss":       {"kin40k ε 0.6 FITC", 1},
		"snelson":        {"", 15},
		"overfit":        {"", 20},
		"discretisation": {"L 1, [01]", 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := base
			if o.out, o.only = t.TempDir(), c.only; c.only == "" {
				o.inducing = defaultInducing
			}
			fatal.If(t, run(t.Context(), name, o))
			file := strings.TrimSuffix(name, "-loss")
			records := table(t, filepath.Join(o.out, file+".csv"))
			if len(records) != c.rows+1 {
				t.Errorf("%d rows, want %d", len(records)-1, c.rows)
			}
			for _, record := range records[1:] {
				for i, cell := range record {
					if v, err := strconv.ParseFloat(cell, 64); err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
						t.Errorf("%s is %s", records[0][i], cell)
					}
				}
			}
			if name != "sparse" && name != "exp-loss" { // which are tables alone
				f, err := os.Open(filepath.Join(o.out, file+".png"))
				fatal.If(t, err)
				defer f.Close()
				if _, err := png.Decode(f); err != nil {
					t.Error(err)
				}
			}
			if c.only == "" {
				return
			}
			units, err := filepath.Glob(filepath.Join(o.out, "units", "*.json"))
			if err != nil || len(units) != c.rows {
				t.Fatalf("%d units, %v", len(units), err)
			}
			var before []int64
			stamp := func() (all []int64) {
				for _, u := range units {
					info, err := os.Stat(u)
					fatal.If(t, err)
					all = append(all, info.ModTime().UnixNano())
				}
				return all
			}
			before = stamp()
			fatal.If(t, run(t.Context(), name, o))
			if !slices.Equal(stamp(), before) {
				t.Error("units were computed again")
			}
		})
	}
}

func table(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	fatal.If(t, err)
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	fatal.If(t, err)
	return records
}

// The published start alone ends where the paper's does. With logarithms as coordinates of the search
// the second split ended at 0.596.
func TestPublishedStart(t *testing.T) {
	o := options{data: data(t), reps: 2, evaluations: 150, inducing: defaultInducing, out: t.TempDir(), only: "ε 0.4 kl"}
	fatal.If(t, run(t.Context(), "boston", o))
	records := table(t, filepath.Join(o.out, "boston.csv"))
	at := slices.Index(records[0], "B")
	if b, err := strconv.ParseFloat(records[1][at], 64); err != nil || !(b < 0.49) {
		t.Errorf("the mean of two bounds is %v, %v, want 0.4835", b, err)
	}
}

// The page says what the paper's cells and the stored results say.
func TestPageIsMadeFromWhatIsStored(t *testing.T) {
	text, err := os.ReadFile(page)
	fatal.If(t, err)
	o := options{page: page}
	want := map[string]string{}
	for _, name := range []string{"boston", "sparse", "exp"} {
		_, want[name], err = o.section(name)
		fatal.If(t, err)
	}
	want["conclusions"], err = o.conclusions()
	fatal.If(t, err)
	for name, section := range want {
		if !strings.Contains(string(text), "<!-- paper "+name+": begin -->\n"+strings.TrimSuffix(section, "\n")+"\n<!-- paper "+name+": end -->") {
			t.Errorf("the section %s is not what the stored results give:\n%s", name, section)
		}
	}
}

// Results of some rows leave those of others as they are.
func TestWriteKeepsOtherRows(t *testing.T) {
	o := options{page: filepath.Join(t.TempDir(), "paper.md"), write: true}
	of := func(method, made string) row {
		return row{unit: unit{Table: "boston", Dataset: "boston", Loss: "01", Epsilon: 0.6, Method: method, Alpha: -1, Start: published}, made: made}
	}
	fatal.If(t, o.keep([]row{of("kl-PAC-GP", "first"), of("full-GP", "first")}))
	fatal.If(t, o.keep([]row{of("kl-PAC-GP", "second")}))
	more := of("full-GP", "third")
	more.reps = 2
	fatal.If(t, o.keep([]row{more}))
	if err := o.keep([]row{of("full-GP", "first")}); err == nil || !strings.Contains(err.Error(), "is stored with 2 splits") {
		t.Errorf("a row of two splits is replaced by one of none: %v", err)
	}
	rows, err := o.results("boston")
	fatal.If(t, err)
	if len(rows) != 2 || rows[0].made != "second" || rows[1].made != "third" || !(rows[0].paper["B"].mean == 0.333) {
		t.Errorf("%d rows, %+v", len(rows), rows)
	}
}

// Of a row there is the longest search.
func TestPageHasTheLongestSearch(t *testing.T) {
	o := options{page: filepath.Join(t.TempDir(), "paper.md"), write: true}
	of := func(start string, limit int) row {
		u := unit{Table: "sparse", Dataset: "pol", Loss: "01", Epsilon: 0.6, Method: "kl-PAC-SGP", Alpha: -1, Inducing: 500, Start: start, Most: limit}
		return row{unit: u, reps: 1, ours: map[string]estimate{}}
	}
	fatal.If(t, o.keep([]row{of(published, 1000), of(published, 100), of(pretrained, 100)}))
	if rows, _, err := o.section("sparse"); err != nil || len(rows) != 1 || rows[0].Most != 1000 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// The tables have the rows that the paper prints.
func TestPublishedRows(t *testing.T) {
	for name, want := range map[string]int{"boston": 15, "sparse": 24, "exp": 12} {
		rows, err := publishedRows(name)
		if err != nil || len(rows) != want {
			t.Errorf("%s has %d rows, %v; want %d", name, len(rows), err, want)
		}
		for _, r := range rows {
			if !(r.paper["B"].mean > 0) || r.Epsilon == 0 {
				t.Errorf("%s: %+v", r.label(), r.paper)
			}
		}
	}
}

// A verdict weighs the difference in its standard errors, and forgives what rounding to three digits hides.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		ours, paper estimate
		want        string
	}{
		{estimate{.3332, .003}, estimate{.333, .004}, "as in the paper"},
		{estimate{.350, .003}, estimate{.333, .004}, "higher by 0.0170"},
		{estimate{.310, .003}, estimate{.333, .004}, "lower by 0.0230"},
		{estimate{.0834, 0}, estimate{.083, 0}, "as in the paper"},
		{estimate{.085, math.NaN()}, estimate{.083, 0}, "higher by 0.0020"},
		{estimate{math.NaN(), 0}, estimate{.083, 0}, "no number to compare with"},
	} {
		r := row{ours: map[string]estimate{"B": c.ours}, paper: map[string]estimate{"B": c.paper}}
		if got := r.verdict(); got != c.want {
			t.Errorf("%v against %v: %q, want %q", c.ours, c.paper, got, c.want)
		}
	}
}
