package main

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects/objectstest"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A job on rows in a real store publishes there what it publishes from files to a folder, to the byte,
// also after the store was killed in the middle, when it has published nothing. Commands read rows
// and artifacts there. Nothing has the credentials.
func TestStore(t *testing.T) {
	repeats(t)
	g, near := objectstest.NewGateway(t), trained(t)
	for _, path := range found(t, near.lake, "*") {
		g.Put(t, "lake/"+filepath.Base(path), readFile(t, path))
	}
	lake, out := "s3://"+objectstest.Bucket+"/lake", "s3://"+objectstest.Bucket+"/a/out"
	folder := filepath.Join(g.Folder(), "a", "out")
	job := tiny(jobFile{"source": "{paths: ['" + lake + "']}"}).write(t, near.dir)
	var answered atomic.Int64
	objectstest.Environment(t, g.Through(t, func(n int64) { answered.Store(n) }))
	said := succeed(t, "train", "-c", job, "-o", out)
	trained := answered.Load()
	alike(t, near.out, folder)
	r := record(t, folder)
	said.says(t, 0, out+"/"+r.Model)

	far, predicted := filepath.Join(near.dir, "far.parquet"), filepath.Join(near.dir, "near.parquet")
	for _, args := range [][]string{
		{"plan", "-c", job},
		{"verify", out, lake, "--require", "draw"},
		{"verify", out + "/" + r.Model, out + "/" + r.Certificate, lake, "--require", "draw"},
		{"inspect", out},
		{"inspect", out + "/" + r.Model},
		{"train", "-c", job, "-o", out},
		{"predict", out, lake, "-o", far},
		{"predict", near.out, near.lake, "-o", predicted},
	} {
		succeed(t, args...)
	}
	if string(readFile(t, far)) != string(readFile(t, predicted)) {
		t.Error("predict: other bytes than on disk")
	}
	score := filepath.Join(near.dir, "score.yaml")
	writeFile(t, score, []byte("source: {paths: ['"+lake+"']}\nmodel: '"+out+"'\noutput: scored\n"))
	succeed(t, "score", score, "--once")
	if n := len(found(t, near.dir, "scored", "s3", objectstest.Bucket, "lake", "*.parquet")); n != 3 {
		t.Errorf("%d files of predictions, want 3", n)
	}
	pacsgp(t, "verify", strings.Replace(out, "//", "/", 1)).says(t, exitFailure, "only s3://BUCKET/PATH")

	var once sync.Once
	objectstest.Environment(t, g.Through(t, func(n int64) {
		if n > trained/2 {
			once.Do(g.Kill)
		}
	}))
	out, folder = strings.Replace(out, "/a/", "/b/", 1), filepath.Join(g.Folder(), "b", "out")
	killed := pacsgp(t, "train", "-c", job, "-o", out)
	killed.says(t, exitFailure, "s3://"+objectstest.Bucket+"/")
	if left := append(found(t, folder, "certificate-*.json"), found(t, folder, "current.json")...); len(left) > 0 {
		t.Errorf("a run that lost its store has published %s", left)
	}
	g.Start(t)
	again := succeed(t, "train", "-c", job, "-o", out)
	alike(t, near.out, folder)
	for _, a := range []answer{said, killed, again} {
		secret(t, a.stdout+a.log+a.message)
	}
	fatal.If(t, filepath.WalkDir(g.Folder(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			secret(t, string(readFile(t, path)))
		}
		return err
	}))
}

// alike demands that two outputs have the same artifacts, to the byte, and that both are current.
func alike(t *testing.T, near, far string) {
	t.Helper()
	a, b := record(t, near), record(t, far)
	for _, name := range []string{a.Model, a.Certificate, a.Row, sinklake.LogFile} {
		data, err := os.ReadFile(filepath.Join(far, name))
		if err != nil || string(data) != string(readFile(t, filepath.Join(near, name))) {
			t.Errorf("%s: other bytes than on disk, %v", name, err)
		}
	}
	if a.ID != b.ID || !strings.Contains(string(readFile(t, filepath.Join(far, sinklake.CurrentFile))), a.ID) {
		t.Errorf("certificate %s is published on disk, %s in the store, or it is not current", a.ID, b.ID)
	}
}

// A store that ignores the conditions of writes is no output, nor are other stores, secrets in an
// address, a position in the data, and a job of another command.
func TestStoresThatAreNoOutput(t *testing.T) {
	s, dir := objectstest.New(t), smallLake(t)
	s.Break(func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == http.MethodPut {
			r.Header.Del("If-None-Match")
		}
		return false
	})
	out := s.Address("out")
	pacsgp(t, "train", "-c", tiny(nil).write(t, dir), "-o", out).says(t, exitFailure, "without regard to If-None-Match or If-Match")
	if names := s.Keys(); len(names) != 1 {
		t.Errorf("it has left %q, want .lock alone", names)
	}
	for output, want := range map[string]string{
		"https://me:hunter2@host/out": "without a user or a query", "s3://me:hunter2@rows/out": "without a user or a query", s.Address("lake/out"): "lake",
	} {
		job := tiny(jobFile{"source": "{paths: ['" + s.Address("lake") + "']}", "output": "'" + output + "'"}).write(t, dir)
		a := pacsgp(t, "train", "-c", job)
		a.says(t, exitConfig, want)
		secret(t, a.message)
		if strings.Contains(a.message, "hunter2") {
			t.Errorf("the message has a secret: %s", a.message)
		}
	}
	pacsgp(t, "train", "-c", tiny(nil).write(t, dir), "-o", out, "--no-pass").says(t, exitUsage, "want a path of this machine")
}

func secret(t *testing.T, text string) {
	t.Helper()
	for _, word := range []string{objectstest.Key, objectstest.Secret} {
		if strings.Contains(text, word) {
			t.Errorf("an output has the credentials: %.300s", text)
		}
	}
}

func found(t *testing.T, pattern ...string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(pattern...))
	fatal.If(t, err)
	return all
}
