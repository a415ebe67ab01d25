package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// An earlier run counts only if its files are unchanged: a file written since is another one,
// whatever its footer says, and a document that does not follow from its own numbers is no result
// of the job.
func TestWhatAnEarlierRunLeftIsLookedAt(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	out := filepath.Join(dir, "out")
	job := tiny(nil).write(t, dir)
	succeed(t, "train", "-c", job)
	idle := func() bool {
		t.Helper()
		return strings.Contains(succeed(t, "train", "-c", job).log, "nothing is trained")
	}
	if !idle() {
		t.Fatal("the same job on the same files trains again")
	}

	writeFile(t, filepath.Join(out, sinklake.CurrentFile), []byte("[1"))
	if !idle() || current(t, out) == nil {
		t.Error("a damaged pointer is not written again")
	}

	id := current(t, out).ID
	document := readFile(t, filepath.Join(out, sinklake.CertificateName(id)))
	forged := bytes.Replace(document, []byte("are off by more"), []byte("are never off by more"), 1)
	if bytes.Equal(document, forged) {
		t.Fatal("the certificate has other words")
	}
	sum := sha256.Sum256(forged)
	other := hex.EncodeToString(sum[:])
	writeFile(t, filepath.Join(out, sinklake.CertificateName(other)), forged)
	for _, name := range []string{sinklake.ManifestName(id), "run.json"} {
		text := bytes.ReplaceAll(readFile(t, filepath.Join(out, name)), []byte(id), []byte(other))
		writeFile(t, filepath.Join(out, strings.ReplaceAll(name, id, other)), text)
	}
	for _, r := range recorded(t, out) {
		path := filepath.Join(out, sinklake.RunStateName(r))
		writeFile(t, path, bytes.ReplaceAll(readFile(t, path), []byte(id), []byte(other)))
	}
	if idle() || current(t, out).ID == other {
		t.Error("an edited certificate is shown, or current")
	}

	later := time.Now().Add(time.Hour)
	files, err := filepath.Glob(filepath.Join(dir, "lake", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	if !idle() {
		t.Fatal("it trains again")
	}
	fatal.If(t, os.Chtimes(files[0], later, later))
	if idle() {
		t.Error("a file that was written since is taken for the same one")
	}
}
