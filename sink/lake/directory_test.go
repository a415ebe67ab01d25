package lake_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/frame"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// oldLog is what the directory knows from before, newLog what a job adds.
var (
	oldLog = fit.Log{Attempts: []fit.Attempt{{Sample: job.Digest{1}}}}
	newLog = fit.Log{Attempts: append(oldLog.Attempts, fit.Attempt{Sample: job.Digest{2}}), Uses: []fit.Use{{Count: 9}}}
)

// testKey signs what a job publishes.
const testKey = "../../sink/sign/testdata/key.pem"

// job is one run of a job against a directory: everything that a job writes,
// in its order.
func testJob(dir string, fsys durable.FS) (err error) {
	d := lake.NewOutput(dir, fsys)
	d.Sign = testKey
	release, err := d.Hold()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	ctx := context.Background()
	if _, err := d.Log(); err != nil {
		return err
	}
	if err := d.PutLog(newLog); err != nil {
		return err
	}
	checkpoint := d.Checkpoint(newLog.Attempts[1].Sample)
	state, err := checkpoint.Load(ctx)
	if err != nil {
		return err
	}
	// Steps that an earlier run has saved are not done again.
	for step := len(state); step < 2; step++ {
		state = append(state, byte('0'+step))
		if err := checkpoint.Save(ctx, state); err != nil {
			return err
		}
	}
	digest, err := d.PutModel(ctx, pipelinetest.SmallModel(0.5))
	if err != nil {
		return err
	}
	if _, err := d.GetModel(ctx, digest); err != nil {
		return err
	}
	if _, err := d.PutCertificate(ctx, pipelinetest.SmallCertificate(digest, string(state))); err != nil {
		return err
	}
	if err := checkpoint.Clear(ctx); err != nil {
		return err
	}
	return d.Put("run.json", []byte("{}\n"))
}

// opened is a directory of the real file system.
func opened(t testing.TB, dir string) *lake.Output {
	t.Helper()
	d, err := lake.Open(dir, nil)
	fatal.If(t, err)
	t.Cleanup(func() { fatal.If(t, d.Close()) })
	return d
}

// prepared returns a file system on which an older job has been.
func prepared(t *testing.T) *durabletest.Memory {
	t.Helper()
	m := durabletest.NewMemory()
	d, err := lake.Open("out", m)
	fatal.If(t, err)
	fatal.If(t, d.PutLog(oldLog))
	fatal.If(t, d.Put("run.json", []byte("the older run record")))
	fatal.If(t, d.Close())
	return m
}

// wholeCheckpoint reports whether a file is a checkpoint of the job.
func wholeCheckpoint(content string) bool {
	f := frame.NewReader(strings.NewReader(content), int64(len(content)), "pacsgp-checkpoint-file/2")
	state := f.Text(2)
	return f.Close() == nil && (state == "0" || state == "01")
}

// wholeOrAbsent checks what a reader may see in the middle of a job: files of
// the job before, or of this one.
func wholeOrAbsent(t *testing.T, when string, seen, before, after map[string]string) {
	t.Helper()
	for name, content := range seen {
		switch {
		case strings.HasPrefix(name, "checkpoint-"):
			if !wholeCheckpoint(content) {
				t.Errorf("%s: half a checkpoint is visible: %q", when, content)
			}
		case content != before[name] && content != after[name]:
			t.Errorf("%s: %s is neither the old nor the new file: %.60q", when, name, content)
		}
	}
	for name := range before {
		if _, ok := seen[name]; !ok {
			t.Errorf("%s: %s has disappeared", when, name)
		}
	}
	for certificate := range seen {
		if !strings.HasPrefix(certificate, "certificate-") || !strings.HasSuffix(certificate, ".json") {
			continue
		}
		for name := range after {
			if _, ok := seen[name]; !ok && name != "run.json" {
				t.Errorf("%s: the certificate is visible without %s", when, name)
			}
		}
	}
}

// finished is a job that met no fault, on a file system where an older one has been.
func finished(t *testing.T) (files *durabletest.Memory, before map[string]string, operations int) {
	t.Helper()
	files = prepared(t)
	before = files.Visible()
	counted := durabletest.NewFaulty(files, durabletest.Fault{})
	fatal.If(t, testJob("out", counted))
	if counted.Operations() < 30 {
		t.Fatalf("only %d operations were seen", counted.Operations())
	}
	return files, before, counted.Operations()
}

func TestPowerCutLeavesWholeFilesAndARunAgainCompletes(t *testing.T) {
	done, before, operations := finished(t)
	want := done.PowerCut().Visible()
	if diff := cmp.Diff(done.Visible(), want); diff != "" {
		t.Fatalf("a finished job is not durable (-written +found after a power cut):\n%s", diff)
	}
	for at := 1; at <= operations; at++ {
		for _, moment := range durabletest.Moments {
			when := fmt.Sprintf("%s operation %d", moment, at)
			m := prepared(t)
			err := testJob("out", durabletest.NewFaulty(m, durabletest.Fault{At: at, Moment: moment, Err: durabletest.ErrKilled}))
			if !errors.Is(err, durabletest.ErrKilled) {
				t.Fatalf("%s: the job says %v, want ErrKilled", when, err)
			}
			// Once as after a kill (what was written is there), once as after
			// a power cut (only what was synced is there).
			for how, found := range map[string]*durabletest.Memory{"killed": m.Killed(), "power cut": m.PowerCut()} {
				wholeOrAbsent(t, when+", "+how, found.Visible(), before, want)
				if err := testJob("out", found); err != nil {
					t.Fatalf("%s, %s: run again: %v", when, how, err)
				}
				if diff := cmp.Diff(want, found.Visible()); diff != "" {
					t.Errorf("%s, %s: other files after a run again (-want +got):\n%s", when, how, diff)
				}
				if left := found.Unpublished(); left != nil {
					t.Errorf("%s, %s: leftovers %q", when, how, left)
				}
			}
		}
	}
}

func TestFullDiskIsAnErrorAndNoHalfFile(t *testing.T) {
	done, before, operations := finished(t)
	want := done.Visible()
	for at := 1; at <= operations; at++ {
		for _, passes := range []bool{false, true} {
			when := fmt.Sprintf("operation %d, passes=%v", at, passes)
			m := prepared(t)
			err := testJob("out", durabletest.NewFaulty(m, durabletest.Fault{At: at, Moment: durabletest.Half, Err: syscall.ENOSPC, Passes: passes}))
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("%s: the job says %v, want ENOSPC", when, err)
			}
			if !strings.Contains(err.Error(), "free at least") {
				t.Errorf("%s: no hint in %q", when, err)
			}
			wholeOrAbsent(t, when, m.Visible(), before, want)
			if err := testJob("out", m); err != nil {
				t.Fatalf("%s: run again with space: %v", when, err)
			}
			if diff := cmp.Diff(want, m.Visible()); diff != "" {
				t.Errorf("%s: other files after a run again (-want +got):\n%s", when, diff)
			}
		}
	}
}

func TestTwoJobsNeverShareADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "out")
	d, err := lake.Open(dir, nil)
	fatal.If(t, err)
	if _, err := lake.Open(dir, nil); !errors.Is(err, pipeline.ErrHeld) {
		t.Errorf("second Open says %v, want ErrHeld", err)
	} else if strings.Contains(err.Error(), "lake: ") || strings.Count(err.Error(), "in use") != 1 {
		t.Errorf("second Open says it twice: %v", err)
	}
	fatal.If(t, d.Close())
	opened(t, dir) // it is free again
}

func TestPutRefusesNamesOutsideTheDirectory(t *testing.T) {
	d := opened(t, t.TempDir())
	for _, name := range []string{"", ".", "..", "../x", "a/b", ".hidden", "_SUCCESS"} {
		if err := d.Put(name, nil); err == nil {
			t.Errorf("Put(%q) is accepted", name)
		}
	}
}

func TestUnwritableDirectoryIsExplained(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	fatal.If(t, os.WriteFile(file, nil, 0o644))
	if _, err := lake.Open(filepath.Join(file, "out"), nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Open below a file says %v, want an error that names it", err)
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "lake")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	d, err := lake.Open(dir, nil)
	if err != nil {
		panic(err)
	}
	defer d.Close()
	digest, err := d.PutModel(context.Background(), pipelinetest.SmallModel(0.5))
	if err != nil {
		panic(err)
	}
	m, err := d.GetModel(context.Background(), digest)
	fmt.Println(m.Meta.Inducing, "inducing point", err)
	// Output: 1 inducing point <nil>
}

func TestGetModelRefusesChangedBytes(t *testing.T) {
	d := opened(t, t.TempDir())
	digest, err := d.PutModel(t.Context(), pipelinetest.SmallModel(0.5))
	fatal.If(t, err)
	_, err = d.PutCertificate(t.Context(), pipelinetest.SmallCertificate(digest, ""))
	fatal.If(t, err)
	file := d.Path(lake.ModelName(digest))
	good, err := os.ReadFile(file)
	fatal.If(t, err)
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 0x40
		fatal.If(t, os.WriteFile(file, bad, 0o644))
		if _, err := d.GetModel(t.Context(), digest); !errors.Is(err, job.ErrChanged) {
			t.Fatalf("byte %d of %d is changed: %v, want ErrChanged", at, len(good), err)
		}
	}
	// Publishing again mends the file.
	_, err = d.PutModel(t.Context(), pipelinetest.SmallModel(0.5))
	fatal.If(t, err)
	if _, err := d.GetModel(t.Context(), digest); err != nil {
		t.Errorf("after publishing again: %v", err)
	}
}

// A model is seen only next to a certificate, whatever fails before.
func TestModelWithoutCertificateIsNotSeen(t *testing.T) {
	dir := t.TempDir()
	d, err := lake.Open(dir, nil)
	fatal.If(t, err)
	digest, err := d.PutModel(t.Context(), pipelinetest.SmallModel(0.5))
	fatal.If(t, err)
	if _, err := d.GetModel(t.Context(), digest); err != nil {
		t.Error(err)
	}
	if seen := readAll(t, dir); len(seen) > 0 {
		t.Errorf("before there is a certificate a reader sees %q", slices.Collect(maps.Keys(seen)))
	}
	fatal.If(t, d.Close()) // as after a failed last pass
	if left := leftovers(t, dir); left != nil {
		t.Errorf("left over: %q", left)
	}
	for _, passes := range []bool{true, false} { // one operation fails, or all from then on
		for at := 1; ; at++ {
			m := durabletest.NewMemory()
			d, err := lake.Open("out", durabletest.NewFaulty(m, durabletest.Fault{At: at, Moment: durabletest.Half, Err: syscall.EIO, Passes: passes}))
			fatal.If(t, err)
			digest, err := d.PutModel(t.Context(), pipelinetest.SmallModel(0.5))
			if err == nil {
				_, err = d.PutCertificate(t.Context(), pipelinetest.SmallCertificate(digest, ""))
			}
			if err == nil {
				break
			}
			documents, models := 0, 0
			for name := range m.Visible() {
				if strings.HasSuffix(name, ".json") {
					documents++
				} else if strings.HasPrefix(name, "model-") {
					models++
				}
			}
			// A file system that removes nothing any more keeps what was renamed.
			if documents == 0 && models > 0 && passes {
				t.Errorf("operation %d fails: a model is seen without a certificate", at)
			}
		}
	}
}

// Opening a directory removes what killed jobs of this program have left there,
// and nothing else.
func TestOpenRemovesItsOwnLeftoversOnly(t *testing.T) {
	dir := t.TempDir()
	random := strings.Repeat("A", 26)
	own := durable.TempPrefix + random + durable.TempSuffix
	foreign := []string{".notes.tmp", ".x.tmp", durable.TempPrefix + "mine" + durable.TempSuffix, durable.TempPrefix + random + ".tmp.txt", "." + random + ".tmp"}
	for _, name := range append(foreign, own) {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600))
	}
	folders := []string{".folder.tmp", durable.TempPrefix + strings.Repeat("B", 26) + durable.TempSuffix}
	for _, name := range folders {
		fatal.If(t, os.MkdirAll(filepath.Join(dir, name, "deep"), 0o700))
	}
	working, err := durable.Create(durable.OS{}, filepath.Join(dir, "predictions.parquet")) // another command
	fatal.If(t, err)
	_, err = working.Write([]byte("rows"))
	fatal.If(t, err)
	opened(t, dir)
	for _, name := range append(foreign, folders...) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("it has removed %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, own)); err == nil {
		t.Error("the file of a killed job is still there")
	}
	if err := working.Commit(); err != nil {
		t.Errorf("the other command: %v", err)
	}
}

// A file system that cannot sync directories ends no job.
// Any other failure ends it.
func TestDirectoriesThatCannotBeSynced(t *testing.T) {
	for failure, want := range map[error]bool{syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.ENOSYS: true, syscall.EIO: false} {
		m := durabletest.Hooked{FS: durabletest.NewMemory(), Hook: func(op durabletest.Operation, effect func() error) error {
			if op.Kind == durabletest.SyncDir {
				return &os.PathError{Op: "sync", Path: op.Name, Err: failure}
			}
			return effect()
		}}
		if err := testJob("out", m); (err == nil) != want {
			t.Errorf("sync of a directory says %v: the job says %v", failure, err)
		}
	}
}

// Each step is durable when it returns, also where an earlier run had done it
// and was killed before it was durable.
func TestWhatReturnedSurvivesAPowerCut(t *testing.T) {
	open := func(fsys durable.FS) *lake.Output {
		d, err := lake.Open("out", fsys)
		fatal.If(t, err)
		return d
	}
	steps := map[string]func(d *lake.Output) error{
		lake.LogFile:    func(d *lake.Output) error { return d.PutLog(newLog) },
		"model.parquet": func(d *lake.Output) error { return d.Put("model.parquet", []byte("the model")) },
		"checkpoint-" + job.Digest{1}.String(): func(d *lake.Output) error {
			return d.Checkpoint(job.Digest{1}).Save(t.Context(), []byte("state"))
		},
	}
	for name, step := range steps {
		m := durabletest.NewMemory()
		counted := durabletest.NewFaulty(m, durabletest.Fault{})
		fatal.If(t, step(open(counted)))
		want := m.Visible()[name]
		if got := m.PowerCut().Visible()[name]; got != want || want == "" {
			t.Errorf("%s after a power cut: %q, want %q", name, got, want)
		}
		for at := 1; at <= counted.Operations(); at++ {
			first := durabletest.NewMemory()
			dying := durabletest.NewFaulty(first, durabletest.Fault{At: at, Moment: durabletest.After, Err: durabletest.ErrKilled})
			if err := step(open(dying)); !errors.Is(err, durabletest.ErrKilled) {
				t.Fatalf("%s: operation %d: %v, want ErrKilled", name, at, err)
			}
			again := first.Killed()
			fatal.If(t, step(open(again)))
			if got := again.PowerCut().Visible()[name]; got != want {
				t.Errorf("%s, killed at operation %d, run again, after a power cut: %q, want %q", name, at, got, want)
			}
		}
	}
}

// A path that ends like a directory, and is none, is no model.
func TestCurrentPathsOfNoDirectory(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, _, folder, err := lake.CurrentPaths(t.Context(), missing); folder || err != nil {
		t.Errorf("a path that may be a file: folder %v, %v", folder, err)
	}
	if _, _, _, err := lake.CurrentPaths(t.Context(), missing+"/"); err == nil || !strings.Contains(err.Error(), missing+"/: there is no such directory") {
		t.Errorf("a directory that is missing: %v", err)
	}
}
