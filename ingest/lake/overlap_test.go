package lake

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// Chunks that share bytes are refused by the names of both, unless no job reads them:
// two row groups with the same pages make each row count twice.
func TestSharedBytesAreRefused(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "writers", "groups", "pyarrow-rows2999.parquet"))
	fatal.If(t, err)
	position := func(to, from *format.ColumnMetaData) {
		to.DataPageOffset, to.DictionaryPageOffset, to.TotalCompressedSize = from.DataPageOffset, from.DictionaryPageOffset, from.TotalCompressedSize
	}
	for name, c := range map[string]struct {
		change func(*format.FileMetaData)
		want   []string
	}{
		"row groups": {func(m *format.FileMetaData) {
			g := m.RowGroups[0]
			m.RowGroups, m.NumRows = append(m.RowGroups, g), m.NumRows+g.NumRows
		}, []string{`column "temp"`, "row group 0", `column "temp" in row group 3`}},
		"columns": {func(m *format.FileMetaData) {
			position(&m.RowGroups[1].Columns[0].MetaData, &m.RowGroups[1].Columns[1].MetaData)
		}, []string{`column "temp"`, "row group 1", `column "pres" in row group 1`}},
		"a byte": {func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[0].MetaData.TotalCompressedSize++
		}, []string{`column "temp"`, "row group 0", `column "pres" in row group 0`}},
		"all of a file": {func(m *format.FileMetaData) {
			c := &m.RowGroups[0].Columns[0].MetaData
			last := m.RowGroups[2].Columns[6].MetaData
			c.TotalCompressedSize = last.DataPageOffset + 1 - min(c.DataPageOffset, max(c.DictionaryPageOffset, 4))
		}, []string{`column "temp"`, "row group 0", `column "p`}},
	} {
		path := filepath.Join(t.TempDir(), "shared.parquet")
		fatal.If(t, os.WriteFile(path, withFooter(t, file, c.change), 0o600))
		_, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Features: []string{"temp", "pres"}, Target: "pm"}})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, word := range append(c.want, "shared.parquet") {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v, want %q", name, err, word)
			}
		}
		if name != "columns" && name != "a byte" {
			continue
		}
		if _, err := Open(t.Context(), Config{Paths: []string{path}, Choice: dataset.Choice{Features: []string{"wind"}, Target: "pm"}}); err != nil {
			t.Errorf("%s: a job without the column: %v", name, err)
		}
	}
}

// A footer of many chunks is checked in a time that grows little faster than they do.
func TestManySharedBytes(t *testing.T) {
	const groups = 200_000
	f := &footer{start: 1 << 40, columns: []column{{kind: kindDouble, width: 8, physical: format.Double, depth: 1}}}
	f.columns[0].Name = "x"
	for g := range groups {
		f.groups = append(f.groups, parquetmeta.RowGroup{Rows: 1, Chunks: []parquetmeta.Chunk{{
			Physical: format.Double, Path: [][]byte{[]byte("x")}, Values: 1, Uncompressed: 100, Compressed: 100, Data: 4 + 100*int64(g),
		}}})
	}
	began := time.Now()
	f.refuseShared()
	if f.columns[0].refused != "" {
		t.Error(f.columns[0].refused)
	}
	f.groups[groups-1].Chunks[0].Data = 4 + 100*groups/2
	f.refuseShared()
	if want := fmt.Sprintf("in row group %d", groups-1); !strings.Contains(f.columns[0].refused, want) {
		t.Errorf("%q, want %q", f.columns[0].refused, want)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%v for %d chunks", took, groups)
	}
}
