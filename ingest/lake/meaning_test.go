package lake

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// A column that is a time in one file and a number in the next would have values of
// two scales. The stored types may differ as long as the values mean the same.
func TestOneMeaningAColumn(t *testing.T) {
	at := func(name string) string { return filepath.Join("testdata", "writers", name+".parquet") }
	// plain is a copy of a file without what the schema says of the stored types.
	plain := func(name, column string) string {
		file, err := os.ReadFile(at(name))
		fatal.If(t, err)
		path := filepath.Join(t.TempDir(), "plain.parquet")
		file = withFooter(t, file, func(meta *format.FileMetaData) {
			i := slices.IndexFunc(meta.Schema, func(e format.SchemaElement) bool { return e.Name == column })
			meta.Schema[i] = format.SchemaElement{Type: meta.Schema[i].Type, RepetitionType: meta.Schema[i].RepetitionType, Name: column}
		})
		fatal.If(t, os.WriteFile(path, file, 0o600))
		return path
	}
	for _, c := range []struct {
		column string
		paths  []string
		words  []string // of the refusal; nil: the files go together
	}{
		{"time", []string{at("same/pyarrow-none"), at("same/pyarrow-time-ms"), at("same/pyarrow-time-ns"), at("same/pyarrow-time-int96")}, nil},
		{"time", []string{at("same/pyarrow-time-utc"), at("same/pyarrow-time-int96"), at("same/parquetmr-10-optional-zstd")}, nil},
		{"time", []string{at("same/pyarrow-none"), at("same/pyarrow-time-utc")}, []string{"pyarrow-none", "pyarrow-time-utc", "local", "UTC"}},
		{"time", []string{at("same/pyarrow-none"), at("same/pyarrow-time-s"), plain("same/pyarrow-none", "time")}, []string{"pyarrow-none", "plain.parquet", "timestamp(us)", "int64"}},
		{"day", []string{plain("refuse/date32", "day"), at("refuse/date32")}, []string{"plain.parquet", "date32", "int32", "(date)"}},
		{"temp", []string{at("same/pyarrow-none"), at("same/pyarrow-decimal-fixed"), at("same/pyarrow-float32"), at("same/pyarrow-decimal-int64")}, nil},
		{"rain", []string{at("same/pyarrow-none"), at("same/pyarrow-rain-int8")}, nil},
	} {
		_, err := Open(t.Context(), Config{Paths: c.paths, Choice: dataset.Choice{Features: []string{c.column}}})
		if (err != nil) != (c.words != nil) {
			t.Errorf("%q: %v", c.paths, err)
			continue
		}
		for _, w := range append(c.words, c.column) {
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("%v does not say %q", err, w)
			}
		}
		if err != nil { // a job without the column may have the files
			if _, err := Open(t.Context(), Config{Paths: c.paths, Choice: dataset.Choice{Features: []string{"hour"}}}); err != nil {
				t.Error(err)
			}
		}
	}
}

// The index of a frame of pandas, named or not, is no default feature.
func TestIndexOfAFrameIsNoDefaultFeature(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "writers", "same", "pyarrow-none.parquet"))
	fatal.If(t, err)
	file = withFooter(t, file, func(meta *format.FileMetaData) {
		meta.KeyValueMetadata = []format.KeyValue{{Key: "pandas", Value: `{"index_columns": [{"kind": "range", "start": 0}, "temp"]}`}}
	})
	path := filepath.Join(t.TempDir(), "a.parquet")
	fatal.If(t, os.WriteFile(path, file, 0o600))
	src, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Target: "pm"}})
	fatal.If(t, err)
	if columns, said := src.Columns(), strings.Join(src.Warnings(), "\n"); slices.Contains(columns, "temp") || !slices.Contains(columns, "pres") || !strings.Contains(said, `"temp" is left out: it is the index that pandas wrote`) {
		t.Errorf("%q: %s", columns, said)
	}
}

// Integers of paths that no float64 holds are no rounded numbers.
func TestLongIntegersInPathsAreRefused(t *testing.T) {
	for text, want := range map[string]bool{"9007199254740992": true, "9007199254740993": false, "-9007199254740993": false, "9007199254740992.5": false, "1e15": true, "1e16": false} {
		if v, number := hiveNumber(text); !number || (v == v) != want {
			t.Errorf("%s is %v, %v", text, v, number)
		}
	}
}
