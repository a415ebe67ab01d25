package main

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects/objectstest"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A job publishes to a real store what it publishes to a folder, to the byte. Commands read it
// there.
func TestStoreAsOutput(t *testing.T) {
	repeats(t)
	g, dir := objectstest.NewGateway(t), t.TempDir()
	smallLake(t, dir)
	job, lake := tiny(nil).write(t, dir), filepath.Join(dir, "lake")
	objectstest.Environment(t, g.URL())
	near := filepath.Join(dir, "out")
	succeed(t, "train", "-c", job, "-o", near)
	out, folder := "s3://"+objectstest.Bucket+"/a/out", filepath.Join(g.Folder(), "a", "out")
	said := succeed(t, "train", "-c", job, "-o", out)
	alike(t, near, folder)
	r := record(t, folder)
	said.says(t, 0, out+"/"+r.Model)

	for _, args := range [][]string{
		{"verify", out, lake},
		{"verify", out + "/" + r.Model, out + "/" + r.Certificate, lake},
		{"inspect", out},
		{"inspect", out + "/" + r.Model},
		{"train", "-c", job, "-o", out},
		{"predict", out, lake, "-o", filepath.Join(dir, "far.parquet")},
		{"predict", near, lake, "-o", filepath.Join(dir, "near.parquet")},
	} {
		succeed(t, args...)
	}
	if string(readFile(t, filepath.Join(dir, "far.parquet"))) != string(readFile(t, filepath.Join(dir, "near.parquet"))) {
		t.Error("predict: other bytes than with the model on disk")
	}
	writeFile(t, filepath.Join(dir, "score.yaml"), []byte("source: {paths: [lake]}\nmodel: '"+out+"'\noutput: scored\n"))
	succeed(t, "score", filepath.Join(dir, "score.yaml"), "--once")

	pacsgp(t, "verify", strings.Replace(out, "//", "/", 1)).says(t, exitFailure, "only s3://BUCKET/PATH")
	secretless(t, g, said)
}

// A run whose store is killed in the middle publishes nothing; started again it publishes the same
// bytes.
func TestStoreIsKilledAsOutput(t *testing.T) {
	repeats(t)
	g, dir := objectstest.NewGateway(t), t.TempDir()
	smallLake(t, dir)
	job, near := tiny(nil).write(t, dir), filepath.Join(dir, "out")
	succeed(t, "train", "-c", job, "-o", near)
	out, folder := "s3://"+objectstest.Bucket+"/out", filepath.Join(g.Folder(), "out")
	var once sync.Once
	objectstest.Environment(t, g.Through(t, func(int64) {
		if _, err := os.Stat(filepath.Join(folder, sinklake.LogFile)); err == nil { // nothing is certified yet
			once.Do(g.Kill)
		}
	}))
	killed := pacsgp(t, "train", "-c", job, "-o", out)
	killed.says(t, exitFailure, out+"/")
	if left := append(found(t, folder, "certificate-*.json"), found(t, folder, "current.json")...); len(left) > 0 {
		t.Errorf("a run that lost its store has published %s", left)
	}
	g.Start(t)
	again := succeed(t, "train", "-c", job, "-o", out)
	alike(t, near, folder)
	secretless(t, g, killed, again)
}

// secretless demands that neither answers nor objects have the credentials.
func secretless(t *testing.T, g *objectstest.Gateway, answers ...answer) {
	t.Helper()
	for _, a := range answers {
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
	for _, name := range []string{a.Model, a.Certificate, a.Row, sinklake.ManifestName(a.ID), sinklake.LogFile} {
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
// address, a place in the data, and a job of another command.
func TestStoresThatAreNoOutput(t *testing.T) {
	s, dir := objectstest.New(t), t.TempDir()
	smallLake(t, dir)
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
	piped := tiny(jobFile{"source": `{paths: "-"}`, "features": "[x1]"}).write(t, dir)
	pacsgp(t, "train", "-c", piped, "-o", out).says(t, exitConfig, "only a job of files")
}
