package main

import (
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects/objectstest"
)

// TestStore does the same jobs on files and on the same files in a real store: all that comes out
// is the same to the byte, also if the store is slow, and after it was killed in the middle. No
// output has the credentials.
func TestStore(t *testing.T) {
	repeats(t)
	g := objectstest.NewGateway(t)
	near, stored := heldOut(t), heldOutJob()
	dir := near.dir
	for _, path := range found(t, dir, "lake", "*") {
		g.Put(t, "lake/"+filepath.Base(path), readFile(t, path))
	}
	lake := "s3://" + objectstest.Bucket + "/lake"
	stored["source"] = "{paths: ['" + lake + "']}"
	var answered atomic.Int64
	objectstest.Environment(t, g.Through(t, func(n int64) { answered.Store(n) }))
	far := retrained(t, dir, stored)
	trained := answered.Load()
	same(t, near, far)
	for _, args := range [][]string{{"verify", "MODEL", "CERTIFICATE", "LAKE"}, {"plan", "-c", "JOB"}} {
		call := func(a artifact, lake string, job jobFile) answer {
			words := strings.NewReplacer("MODEL", a.model, "CERTIFICATE", a.certificate, "LAKE", lake, "JOB", tiny(job).write(t, dir))
			var all []string
			for _, arg := range args {
				all = append(all, words.Replace(arg))
			}
			return pacsgp(t, all...)
		}
		a, b := call(near, near.lake, heldOutJob()), call(far, lake, stored)
		if args[0] != "plan" && (a.stdout != strings.NewReplacer(lake, near.lake, far.out, near.out).Replace(b.stdout) || a.stdout == "") || a.status != b.status {
			t.Errorf("%s: status %d, on disk %d, or other words:\n%s\non disk:\n%s\n%s", args[0], b.status, a.status, b.stdout, a.stdout, b.message)
		}
	}
	p, q := filepath.Join(dir, "p.parquet"), filepath.Join(dir, "q.parquet")
	succeed(t, "predict", near.model, near.certificate, near.lake, "-o", p)
	succeed(t, "predict", far.model, far.certificate, lake, "-o", q)
	if string(readFile(t, p)) != string(readFile(t, q)) {
		t.Error("predict: other bytes than on disk")
	}
	writeFile(t, filepath.Join(dir, "score.yaml"), []byte("source: {paths: ['"+lake+"']}\nmodel: '"+far.out+"'\noutput: scored\n"))
	succeed(t, "score", filepath.Join(dir, "score.yaml"), "--once")
	if n := len(found(t, dir, "scored", "s3", objectstest.Bucket, "lake", "*.parquet")); n != 1 {
		t.Errorf("%d files of predictions, want 1", n)
	}
	slow := func(int64) { time.Sleep(2 * time.Millisecond) }
	objectstest.Environment(t, g.Through(t, slow))
	same(t, near, retrained(t, dir, stored))

	var once sync.Once
	endpoint := g.Through(t, func(n int64) {
		if n > trained/2 {
			once.Do(g.Kill)
		}
	})
	objectstest.Environment(t, endpoint)
	out := t.TempDir()
	killed := pacsgp(t, "train", "-c", tiny(stored).write(t, dir), "-o", out)
	killed.says(t, exitFailure, lake+"/")
	if left := append(found(t, out, "certificate-*"), found(t, out, "current.json")...); len(left) > 0 {
		t.Errorf("a run that lost its store has published %s", left)
	}
	g.Start(t)
	again := pacsgp(t, "train", "-c", tiny(stored).write(t, dir), "-o", out)
	if again.status != 0 {
		t.Fatalf("status %d: %s", again.status, again.message)
	}
	same(t, near, artifact{model: found(t, out, "model-*")[0], certificate: found(t, out, "certificate-*.json")[0]})
	secret(t, killed.message+killed.log+again.log)
	fatal.If(t, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			secret(t, string(readFile(t, path)))
		}
		return err
	}))
}

// An object that is written again between the passes of a run ends it, even if its rows are the same.
func TestStoreIsPinnedForTheRun(t *testing.T) {
	s, dir := objectstest.New(t), t.TempDir()
	smallLake(t, dir)
	key := ""
	for _, path := range found(t, dir, "lake", "*") {
		key = "lake/" + filepath.Base(path)
		s.Put(key, readFile(t, path))
	}
	job := tiny(jobFile{"source": "{paths: ['" + s.Address("lake") + "']}"}).write(t, dir)
	succeed(t, "train", "-c", job, "-o", filepath.Join(dir, "one"))
	var once sync.Once
	listed := 0
	s.Break(func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if listed += len(r.URL.Query()["list-type"]); listed > 2 { // two pages are the first listing
			once.Do(func() { s.Retag(key) })
		}
		return false
	})
	got := pacsgp(t, "train", "-c", job, "-o", filepath.Join(dir, "two"))
	got.says(t, exitFailure, s.Address(key)+" was written again")
}

// same demands that two artifacts have the same bytes, by their names.
func same(t *testing.T, near, far artifact) {
	t.Helper()
	if filepath.Base(near.model) != filepath.Base(far.model) || filepath.Base(near.certificate) != filepath.Base(far.certificate) {
		t.Errorf("on disk %s and %s, in the store %s and %s", filepath.Base(near.model), filepath.Base(near.certificate), filepath.Base(far.model), filepath.Base(far.certificate))
	}
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
