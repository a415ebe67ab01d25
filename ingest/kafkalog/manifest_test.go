package kafkalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A manifest that is read names files of its own folder, each once, and reads back as
// what it was written as.
func FuzzManifest(f *testing.F) {
	for _, text := range []string{
		`{"format":"pacsgp-spool/1","declared":"{}","spans":[{"partition":0,"first":0,"end":60}],"segments":[{"topic":"rows","partition":0,"first":0,"end":60,"rows":60,"file":"segment-00000000-partition-000000.parquet","bytes":100}],"complete":true}`,
		`{"format":"pacsgp-spool/1","segments":[{"file":"../../etc/passwd"}]}`,
		`{"format":"pacsgp-spool/1","segments":[{"file":"segment-00000000-partition-000000.parquet","dead_letters":"_letters-00000000-partition-000000.log"},{"file":"segment-00000000-partition-000000.parquet"}]}`,
		`{"format":"pacsgp-spool/1","spans":[{"first":9223372036854775807,"end":-1}]}`,
		`{"format":"pacsgp-spool/2"}`, `{}`, `[`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseManifest(text)
		if err != nil {
			return
		}
		var files []string
		for _, g := range m.Segments {
			files = append(files, g.File)
			if filepath.Base(g.File) != g.File || filepath.Base("x"+g.DeadLetters) != "x"+g.DeadLetters || g.End < g.First || g.Rows < 0 {
				t.Fatalf("%q: segment %+v", text, g)
			}
		}
		if slices.Sort(files); len(slices.Compact(files)) != len(m.Segments) {
			t.Fatalf("%q names a file twice", text)
		}
		written, err := json.Marshal(m)
		fatal.If(t, err)
		if _, err := parseManifest(written); err != nil {
			t.Fatalf("%q is not read back: %v", written, err)
		}
	})
}

// Nothing of a spool's folder goes that is not its own, whatever it is called.
func TestForeignFilesInASpool(t *testing.T) {
	folder := t.TempDir()
	foreign := []string{"notes.tmp", ".notes.tmp", ".x.tmp", durable.TempPrefix + "x" + durable.TempSuffix, "segment-1.parquet", "rows.parquet"}
	own := []string{durable.TempPrefix + strings.Repeat("A", 26) + durable.TempSuffix, "segment-00000000-partition-000000.parquet"}
	for _, name := range append(slices.Clone(foreign), own...) {
		fatal.If(t, os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600))
	}
	fatal.If(t, os.MkdirAll(filepath.Join(folder, ".folder.tmp", "full"), 0o755))
	_, err := openSpool(Config{Folder: folder, Topic: "rows", Columns: []string{"x"}, files: durable.OS{}})
	fatal.If(t, err)
	fatal.If(t, Remove(folder))
	for _, name := range foreign {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
	for _, name := range own {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}
