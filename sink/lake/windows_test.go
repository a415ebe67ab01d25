package lake_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// TestWindows: a window at work keeps its notes; done, it has the name of its number, durably,
// its artifact is found by the id, and the oldest go. The path may have the signs of a pattern.
func TestWindows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[out]*")
	fatal.If(t, os.Mkdir(dir, 0o755))
	var done []string
	fsys := durabletest.Hooked{FS: durable.OS{}, Hook: func(op durabletest.Operation, effect func() error) error {
		if filepath.Dir(op.Name) == dir || op.Name == dir {
			done = append(done, op.Kind+" "+filepath.Base(op.Name))
		}
		return effect()
	}}
	for _, name := range []string{"_window-000000000007", "_window-000000000003", "_window-12", "window-000000000001"} {
		fatal.If(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	w := lake.NewWindows(fsys, dir, 1, testKey)
	if left, err := w.Left(); err != nil || !slices.Equal(left, []int64{3, 7}) {
		t.Fatalf("Left() = %v, %v", left, err)
	}
	f := w.Folder(3)
	if text, _, err := f.Note("number.json"); text != nil || err != nil {
		t.Errorf("nothing was noted: %q, %v", text, err)
	}
	fatal.If(t, f.PutNote("number.json", []byte("{}")))
	if text, where, err := w.Folder(3).Note("number.json"); string(text) != "{}" || where != filepath.Join(dir, "_window-000000000003", "number.json") || err != nil {
		t.Errorf("%q is noted at %s: %v", text, where, err)
	}
	out := f.Output()
	release, err := out.Hold()
	fatal.If(t, err)
	sum, err := out.PutModel(t.Context(), pipelinetest.SmallModel(0.5))
	fatal.If(t, err)
	id, err := out.PutCertificate(t.Context(), pipelinetest.SmallCertificate(sum, "test"))
	fatal.If(t, err)
	if signed, err := lake.Signatures(nil, w.Open(3), id); err != nil || len(signed) != 1 {
		t.Errorf("%d signatures, %v, want one", len(signed), err)
	}
	if _, digest, err := f.Model(lake.ModelName(sum)); err != nil || digest != sum {
		t.Errorf("the model %s has the SHA-256 %s: %v", sum, digest, err)
	}
	fatal.If(t, release())
	if _, err := w.Published(t.Context(), id); err == nil {
		t.Error("what is at work is published")
	}
	done = nil
	fatal.If(t, f.Done(12))
	if want := []string{durabletest.Rename + " window-000000000012", durabletest.SyncDir + " " + filepath.Base(dir)}; !slices.Equal(done, want) {
		t.Errorf("done by %q, want %q", done, want)
	}
	if a, err := w.Published(t.Context(), id); err != nil || len(a.Document) == 0 || len(a.Model) == 0 {
		t.Errorf("Published: %d and %d bytes, %v", len(a.Document), len(a.Model), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "window-000000000001")); err == nil {
		t.Error("the oldest is kept")
	}
	fatal.If(t, w.Folder(7).Remove())
	if left, err := w.Left(); err != nil || len(left) > 0 {
		t.Errorf("Left() = %v, %v", left, err)
	}
}
