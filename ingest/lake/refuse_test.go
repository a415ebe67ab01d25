package lake_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// Each file of testdata/writers/refuse has one odd column: it is read by a rule or
// refused by name, and it is no matter to a job that does not use it.
func TestWritersRefuse(t *testing.T) {
	for _, c := range []struct {
		file, column string
		why          string // words of the refusal at Open; "" if the column is read
		fault        ingest.Fault
		row          int64 // of the first fault
		byDefault    bool  // the column is a default feature
		sum          float64
	}{
		{file: "binary-column", column: "bin", why: "binary"},
		{file: "date32", column: "day", sum: 40 * 1362096000},
		{file: "decimal-38", column: "d", byDefault: true, sum: 4.93827156049383e26},
		{file: "duplicate-name", column: "temp", why: "2 columns"},
		{file: "duration", column: "du", why: "a duration"},
		{file: "float16", column: "h", byDefault: true, sum: 780},
		{file: "int64-beyond-2to53", column: "big", fault: ingest.TooLong, byDefault: true},
		{file: "list-column", column: "l", why: "a list"},
		{file: "map-column", column: "m", why: "a map"},
		{file: "name-dots-and-umlaut", column: "größe.m²", byDefault: true, sum: 40},
		{file: "name-empty", column: "", sum: 40},
		{file: "struct-column", column: "s", why: "nested"},
		{file: "text-column", column: "dir", why: "text"},
		{file: "text-large-dictionary", column: "dir", why: "text"},
		{file: "time-of-day", column: "tod", why: "time of day"},
		{file: "uint64-beyond-int64", column: "big", fault: ingest.TooLong, byDefault: true},
	} {
		t.Run(c.file, func(t *testing.T) {
			paths := []string{writersData("refuse", c.file+".parquet")}
			src := open(t, lake.Config{Paths: paths, Choice: dataset.Choice{Features: []string{"pres", "hour"}, Target: "pm"}})
			if got := sum(table(t, src)[1]); got != 396 {
				t.Errorf("a job without the column: sum of hour = %v, want 396", got)
			}
			src = open(t, lake.Config{Paths: paths, Choice: dataset.Choice{Target: "pm"}})
			if got := slices.Contains(src.Columns(), c.column); got != c.byDefault {
				t.Errorf("default columns %q, warnings %q", src.Columns(), src.Warnings())
			}
			src, err := lake.Open(t.Context(), lake.Config{Paths: paths, Choice: dataset.Choice{Features: []string{c.column}, Target: "pm"}})
			if c.why != "" {
				wantError(t, err, c.file, c.column, c.why)
				return
			}
			fatal.If(t, err)
			_, err = readAll(t, src)
			var bad *ingest.RejectedRowError
			switch {
			case c.fault != ingest.None:
				if !errors.As(err, &bad) || bad.Fault != c.fault || bad.Column != c.column || bad.Row != c.row {
					t.Errorf("%v, want fault %v of row %d", err, c.fault, c.row)
				}
			case err != nil:
				t.Error(err)
			default:
				if got := sum(table(t, src)[0]); got != c.sum {
					t.Errorf("sum of %q = %v, want %v", c.column, got, c.sum)
				}
			}
		})
	}
}

func TestWritersRefuseFiles(t *testing.T) {
	for file, words := range map[string][]string{
		"empty-file":       {"too few"},
		"encrypted":        {"encrypted"},
		"text-not-parquet": {"does not end like a Parquet file"},
		"truncated":        {"written to its end"},
	} {
		_, err := lake.Open(t.Context(), lake.Config{Paths: []string{writersData("refuse", file+".parquet")}, Choice: dataset.Choice{Target: "pm"}})
		wantError(t, err, append(words, file)...)
	}
	for _, file := range []string{"zero-rows", "zero-row-groups"} {
		src := open(t, lake.Config{Paths: []string{writersData("refuse", file+".parquet")}})
		if n := len(src.Shards()); n != 0 {
			t.Errorf("%s: %d shards, want none", file, n)
		}
	}
}

func TestWritersLake(t *testing.T) {
	root := writersData("lake")
	src := open(t, lake.Config{Paths: []string{root}, Choice: dataset.Choice{Target: "pm"}})
	if want := []string{"hour", "part", "pres", "rain", "temp", "wind", "year", "pm"}; !slices.Equal(src.Columns(), want) {
		t.Errorf("columns %q, want %q", src.Columns(), want)
	}
	if n := len(src.Warnings()); n != 2 { // extra is not everywhere, time is a timestamp
		t.Errorf("warnings %q", src.Warnings())
	}
	shards := src.Shards()
	if len(shards) != 3 || shards[1].First != 15 || shards[2].First != 30 || shards[2].Rows != 10 {
		t.Fatalf("shards %+v", shards)
	}
	// The 40 rows are the first ones of the collection's table.
	want := table(t, open(t, lake.Config{Paths: []string{writersData("same", "pyarrow-none.parquet")}}))
	got := table(t, src)
	for j, name := range src.Columns() {
		switch k := slices.Index(append(slices.Clone(writersFeatures), writersTarget), name); {
		case name == "year" || name == "part":
			if got, want := sum(got[j]), map[string]float64{"year": 40 * 2013, "part": 15*0 + 15*1 + 10*2}[name]; got != want {
				t.Errorf("sum of %s = %v", name, got)
			}
		case !slices.Equal(got[j], want[k][:40]):
			t.Errorf("column %s is not that of the table", name)
		}
	}
	_, err := lake.Open(t.Context(), lake.Config{Paths: []string{root}, Choice: dataset.Choice{Features: []string{"extra"}, Target: "pm"}})
	wantError(t, err, "part-00000", `no column "extra"`)
}
