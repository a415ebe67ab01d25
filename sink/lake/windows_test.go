package lake_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// An open window has a note and a log of its own; what is made of it is in the output of all, and what
// is current stays there, however many windows come. The path may have the signs of a pattern.
func TestWindows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[out]*")
	for _, name := range []string{"_window-000000000007", "_window-000000000003", "_window-12"} {
		fatal.If(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	w := &lake.Windows{FS: durable.OS{}, Path: dir, Sign: testKey}
	if left, err := w.Left(); err != nil || !slices.Equal(left, []int64{3, 7}) {
		t.Fatalf("Left() = %v, %v", left, err)
	}
	f := w.Folder(3)
	if text, _, err := f.Note("window.json"); text != nil || err != nil {
		t.Errorf("nothing was noted: %q, %v", text, err)
	}
	fatal.If(t, f.PutNote("window.json", []byte("{}")))
	if text, where, err := w.Folder(3).Note("window.json"); string(text) != "{}" || where != filepath.Join(w.Open(3), "window.json") || err != nil {
		t.Errorf("%q is noted at %s: %v", text, where, err)
	}
	var first pipeline.ArtifactRef
	for n := range 4 {
		out := w.Output()
		release, err := out.Hold()
		fatal.If(t, err)
		if log, err := out.Log(); err != nil || (n > 0) != (len(log.Attempts) > 0) {
			t.Errorf("window 3 has the log %+v, %v", log, err)
		}
		fatal.If(t, out.PutLog(oldLog))
		sum, err := out.PutModel(t.Context(), pipelinetest.SmallModel(1/float64(n+2)))
		fatal.If(t, err)
		id, err := out.PutCertificate(t.Context(), pipelinetest.SmallCertificate(sum, "test"))
		fatal.If(t, err)
		if signed, err := lake.NewOutput(dir, nil).Signatures(id); err != nil || len(signed) != 1 {
			t.Errorf("%d signatures, %v, want one", len(signed), err)
		}
		r, err := pipeline.NewRun(out, "abc", job.Job{}, time.Date(2026, 5, 1, n, 0, 0, 0, time.UTC), nil)
		fatal.If(t, err)
		if r.Artifacts = []pipeline.ArtifactRef{{ID: id, Model: sum}}; n == 0 {
			first = r.Artifacts[0]
			fatal.If(t, out.Point(pipeline.Current{ArtifactRef: first, Predictor: certify.PredictorMean}))
		}
		fatal.If(t, r.End(out, pipeline.StateFinished, new(int), "", r.Began))
		fatal.If(t, errors.Join(out.Retain(1), release()))
	}
	if ids, err := lake.NewOutput(dir, nil).Certificates(); err != nil || len(ids) != 2 || !slices.Contains(ids, first.ID) || lake.Damaged(dir) != nil {
		t.Errorf("%q are there, %v, %v; current is %s", ids, err, lake.Damaged(dir), first.ID)
	}
	fatal.If(t, errors.Join(w.Folder(3).Remove(), w.Folder(7).Remove()))
	if left, err := w.Left(); err != nil || len(left) > 0 {
		t.Errorf("Left() = %v, %v", left, err)
	}
}

// A watch may keep its state in an output that a job works in, where the console shows it; another watch
// may not.
func TestWatchInAnOutputAtWork(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir)
	w, _, err := lake.OpenWatch(dir, nil)
	fatal.If(t, err)
	if _, _, err := lake.OpenWatch(dir, nil); !errors.Is(err, pipeline.ErrHeld) {
		t.Errorf("another watch: %v", err)
	}
	fatal.If(t, w.Close())
}
