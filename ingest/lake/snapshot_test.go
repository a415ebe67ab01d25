package lake_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A file list is read in its order, and no other file is. A file that is not as it was listed is named.
func TestFileList(t *testing.T) {
	dir := tree(t, "data/b.parquet", "data/a.parquet", "data/c.parquet")
	path := filepath.Join(dir, "list.json")
	data, err := os.ReadFile(filepath.Join(dir, "data/a.parquet"))
	fatal.If(t, err)
	sum := sha256.Sum256(data)
	good := fmt.Sprintf(`"bytes": %d, "rows": 10, "sha256": "%s"`, len(data), hex.EncodeToString(sum[:]))
	list := func(text string) {
		t.Helper()
		fatal.If(t, os.WriteFile(path, []byte(`{"format": "pacsgp-files/1", "snapshot": "trips 7", "files": [`+text+`]}`), 0o600))
	}
	list(`{"path": "data/b.parquet", ` + good + `}, {"path": "file://` + filepath.Join(dir, "data/a.parquet") + `", ` + good + `}`)
	if names, _ := files(t, dir, "list.json"); !slices.Equal(names, []string{"data/b.parquet", "data/a.parquet"}) {
		t.Errorf("the list gives %q", names)
	}
	found, _, err := lake.Files(t.Context(), []string{path})
	if err != nil || found[1].Snapshot != "trips 7" {
		t.Errorf("%+v, %v", found, err)
	}
	fatal.If(t, os.Symlink("data/b.parquet", filepath.Join(dir, "other.parquet")))
	for text, words := range map[string][]string{
		`{"path": "data/b.parquet", "bytes": 7}`:                                          {"data/b.parquet has changed", "in " + path + " 7"},
		fmt.Sprintf(`{"path": "data/b.parquet", "bytes": %d, "rows": 9}`, len(data)):      {"data/b.parquet has changed: rows 10"},
		fmt.Sprintf(`{"path": "data/b.parquet", "bytes": %d, "sha256": "00"}`, len(data)): {"data/b.parquet has changed: sha256"},
		fmt.Sprintf(`{"path": "data/b.parquet", "bytes": %d, "footer": "00"}`, len(data)): {"data/b.parquet has changed: footer"},
		`{"path": "data/gone.parquet", "bytes": 7}`:                                       {path + " lists", "gone.parquet, which cannot be read"},
		`{"path": "data/b.parquet", "bytes": 7, "bytes": 8}`:                              {"is no list of files", "duplicate", "bytes"},
		`{"path": "data/b.parquet"}`:                                                      {"file 1 of the list has no path or no bytes"},
		`{"path": "data/b.parquet", "size": 7}`:                                           {"is no list of files", "size"},
		``:                                                                                {"is no list of files"},
		`{"path": "data/b.parquet", "bytes": 7, "sha256": "00"}, {"path": "data/b.parquet", ` + good + `}`: {"data/b.parquet has changed: bytes"},
		`{"path": "data/b.parquet", ` + good + `}, {"path": "./data/b.parquet", ` + good + `}`:             {"data/b.parquet is listed, and was read before"},
		`{"path": "data/b.parquet", ` + good + `}, {"path": "other.parquet", ` + good + `}`:                {"other.parquet is listed, and was read before"},
		`{"path": "data/b.parquet", ` + good + `}]} {"files": [{"path": "data/c.parquet", ` + good + `}`:   {"is no list of files", "after top-level value"},
	} {
		list(text)
		_, err := lake.Open(t.Context(), lake.Config{Paths: []string{path}, Target: "y"})
		wantError(t, err, words...)
	}
}
