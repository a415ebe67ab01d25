package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// The test binary is the program, too: a worker as an engine starts one, or a driver.
func TestMain(m *testing.M) {
	if reported := os.Getenv("PACSGP_BEAM"); reported != "" {
		if filepath.IsAbs(reported) {
			reportWorker(reported)
		}
		main()
		os.Exit(0)
	}
	flag.Parse()
	register()
	beam.Init()
	os.Exit(inFolder(m))
}

// reportWorker adds the number of this process and its instructions to a file.
func reportWorker(path string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid(), model.InstructionSet())
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		panic(err)
	}
}

// inFolder runs the tests in a folder for what Beam, and workers that are killed, leave behind.
func inFolder(m *testing.M) int {
	folder, err := os.MkdirTemp("", "engine-beam-")
	if err == nil {
		err = os.Setenv("TMPDIR", folder)
	}
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	return m.Run()
}

// job writes a job on 180 rows in three files, with these lines more, and returns its path.
func testJob(t *testing.T, lines ...string) string {
	t.Helper()
	dir := t.TempDir()
	g, err := synth.New(synth.Config{Seed: 22, Noise: 0.1, Features: 2})
	fatal.If(t, err)
	fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, "lake"), 3, 0, 180))
	return write(t, dir, "source: {paths: [lake]}", append(lines, "loss: {epsilon: 0.7}", "require: draw")...)
}

// write writes the file of a small job.
func write(t testing.TB, dir, source string, lines ...string) string {
	t.Helper()
	path := filepath.Join(dir, "job.yaml")
	lines = append(lines, source, "target: y", "delta: 0.05", "inducing: 12", "output: out")
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "train:") }) {
		lines = append(lines, "train: {passes: 2}")
	}
	fatal.If(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

// on is a driver of a job.
func on(t testing.TB, path string) *driver {
	t.Helper()
	d, err := newDriver(t.Context(), path, t.Output(), t.Output())
	fatal.If(t, err)
	return d
}

// finished fails the test for an error that is not about what the certificate promises.
func finished(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, pipeline.ErrNotCertified) {
		fatal.If(t, err)
	}
}

// withTrainingState is a driver of a job that is trained, and names that job.
func withTrainingState(t testing.TB, path string) (*driver, passOf) {
	t.Helper()
	d := on(t, path)
	fatal.If(t, d.train(t.Context()))
	h, err := d.task.TrainingState()
	fatal.If(t, err)
	return d, passOf{path, h.Digest, "last"}
}

// published are the artifacts in the output of a driver, and its log.
func (d *driver) published(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"model-*", "certificate-*", "log.json"} {
		names, err := filepath.Glob(filepath.Join(d.task.Output, pattern))
		fatal.If(t, err)
		for _, name := range names {
			data, err := os.ReadFile(name)
			fatal.If(t, err)
			files[filepath.Base(name)] = string(data)
		}
	}
	return files
}

// alone are the artifacts of the same job by pacsgp train.
func alone(t *testing.T, path string) map[string]string {
	t.Helper()
	d, err := byPacsgp(t, path)
	finished(t, err)
	return d.published(t)
}

// byPacsgp is pacsgp train.
func byPacsgp(t *testing.T, path string) (*driver, error) {
	t.Helper()
	d := on(t, path)
	d.task.Output = t.TempDir()
	d.out, d.how.Report = config.OutputIn(d.task.Output, nil), nil
	_, err := pipeline.Train(t.Context(), d.task.Job, d.task.Source, d.out, d.how)
	return d, err
}

// nothingPublished fails the test if there is a model or a certificate.
func (d *driver) nothingPublished(t *testing.T) {
	t.Helper()
	for name := range d.published(t) {
		if name != "log.json" {
			t.Errorf("%s is published", name)
		}
	}
}

func demandSame(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 4 { // a model, a certificate in two forms, the log
		t.Errorf("%d files; other ones than by pacsgp train (-want +got):\n%.2000s", len(want), diff)
	}
}

// demandNoOther fails the test for a file that is not one of those that are wanted.
func demandNoOther(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name, content := range got {
		if want[name] != content {
			t.Errorf("%s is not as by pacsgp train", name)
		}
	}
}

// On an engine both passes give what pacsgp train gives, byte for byte, and leave nothing behind. Where
// rows are left out, the first pass is made here.
func TestSameBytesAsOneProcess(t *testing.T) {
	jobs := map[string]string{
		"duplicates dropped":      testJob(t),
		"duplicates kept":         testJob(t, "duplicates: keep"),
		"rejected rows tolerated": testJob(t, "rejected: {limit: 5 %}"),
	}
	data := os.Getenv("PACSGP_DATA")
	if data == "" {
		data = "../../../shared/data"
	}
	data, err := filepath.Abs(filepath.Join(data, "concrete"))
	fatal.If(t, err)
	if _, err := os.Stat(data); err == nil {
		jobs["concrete"] = write(t, t.TempDir(), fmt.Sprintf("source: {paths: [%q]}", data), "loss: {epsilon: 10}", "duplicates: keep", "require: draw")
	} else if os.Getenv("CI") == "true" && os.Getenv("PACSGP_DATA") != "none" {
		t.Error(err)
	}
	for name, path := range jobs {
		t.Run(name, func(t *testing.T) {
			d := on(t, path)
			var said strings.Builder
			d.stderr = &said
			fatal.If(t, d.train(t.Context()))
			finished(t, d.certify(t.Context()))
			demandSame(t, alone(t, path), d.published(t))
			here := name == "rejected rows tolerated"
			if by := strings.Contains(said.String(), "the engine makes the first pass"); by == here {
				t.Errorf("the first pass by the engine: %v", by)
			}
			if left, err := filepath.Glob(filepath.Join(d.task.Output, "_parts-*")); len(left) > 0 || err != nil {
				t.Errorf("%v, %v is left over", left, err)
			}
		})
	}
}

// Workers that are processes of their own, started as an engine starts them, give the same bytes.
func TestWorkersOfTheirOwn(t *testing.T) {
	path := testJob(t)
	d := on(t, path)
	workers{}.use(t)
	fatal.If(t, d.train(t.Context()))
	finished(t, d.certify(t.Context()))
	demandSame(t, alone(t, path), d.published(t))
}

// Workers with other instructions make the same parts, which the engine compares with those that are
// there already.
func TestInstructionSets(t *testing.T) {
	path, reported := testJob(t), filepath.Join(t.TempDir(), "reported")
	workers{reported: reported, environment: map[string]string{"GODEBUG": "cpu.avx2=off"}}.use(t)
	d, j := withTrainingState(t, path)
	folder := filepath.Join(d.task.Output, partsPrefix+j.TrainingState[:16])
	fatal.If(t, os.Mkdir(folder, 0o700))
	for _, hidden := range []string{"cpu.avx512f=off", "cpu.avx2=off", ""} {
		workers{reported: reported, environment: map[string]string{"GODEBUG": hidden}}.use(t)
		fatal.If(t, execute(t.Context(), parts(j, folder, []int{1, 2, 3}, 3)))
	}
	finished(t, d.certify(t.Context()))
	demandSame(t, alone(t, path), d.published(t))
	demandSets(t, reported, 5)
}

// demandSets fails the test unless so many workers, one of them without assembly, have reported.
func demandSets(t *testing.T, reported string, least int) {
	t.Helper()
	text, err := os.ReadFile(reported)
	fatal.If(t, err)
	lines, portable := strings.Count(string(text), "\n"), strings.Count(string(text), " portable\n")
	if lines < least || portable == 0 || portable == lines && model.InstructionSet() != "portable" {
		t.Errorf("workers were not mixed: %s", text)
	}
}

// A row that cannot be used fails the job with our error, which names file and row.
func TestRejectedRowFailsTheJob(t *testing.T) { rejectedRow(t, testJob(t), 60) }

// rejectedRow puts a rejected row into the middle file of a job's lake, whose files have this many rows.
func rejectedRow(t *testing.T, path string, n int) {
	t.Helper()
	d, _ := withTrainingState(t, path)
	before := d.published(t)
	files := lakeOf(t, path)
	middle := len(files) / 2
	rows := make([]row, n)
	rows[7].X2 = math.NaN()
	replace(t, files[middle], rows)
	err := d.certify(t.Context())
	part := fmt.Sprintf(": part %d/%d of the last pass: ", middle+1, len(files))
	for _, want := range []string{part, filepath.Base(files[middle]), "row 7", `"x2"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("certify() = %v, want %s in it", err, want)
		}
	}
	fatal.If(t, os.Remove(files[middle]))
	if err := d.certify(t.Context()); err == nil {
		t.Error("a file is away, and that is no error")
	}
	if diff := cmp.Diff(before, d.published(t)); diff != "" {
		t.Errorf("published (-before +after):\n%.2000s", diff)
	}
}

// A row is one of the lake of a job.
type row struct {
	X1 float64 `parquet:"x1"`
	X2 float64 `parquet:"x2"`
	Y  float64 `parquet:"y"`
}

// lakeOf are the files of a job's lake.
func lakeOf(t *testing.T, path string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "lake", "*"))
	fatal.If(t, err)
	return files
}

// replace puts other rows into a file.
func replace(t *testing.T, path string, rows []row) {
	t.Helper()
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file)
	_, err := w.Write(rows)
	fatal.If(t, errors.Join(err, w.Close()))
	fatal.If(t, os.WriteFile(path, file.Bytes(), 0o600))
}

// unrelated are rows that have nothing to do with each other.
func unrelated(n int, seed uint64) []row {
	rng := rand.New(rand.NewPCG(seed, 1))
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{rng.Float64(), rng.Float64(), rng.Float64()}
	}
	return rows
}

// A part that is made again, in the same process, by another one, or as an element that occurs
// twice, has the same bytes. Other bytes are refused.
func TestPartsMadeTwice(t *testing.T) {
	d, j := withTrainingState(t, testJob(t))
	part := func() []byte {
		data, err := j.part(t.Context(), pass.Part{Number: 2, Of: 3})
		fatal.If(t, err)
		return data
	}
	first, again := part(), part()
	clear(passes.made) // as in a process that replaces a killed one
	if third := part(); !bytes.Equal(first, again) || !bytes.Equal(first, third) {
		t.Error("other bytes")
	}
	folder := t.TempDir()
	fatal.If(t, execute(t.Context(), parts(j, folder, []int{1, 2, 2, 3, 1, 1}, 3)))
	fatal.If(t, execute(t.Context(), parts(j, folder, []int{2, 3}, 3))) // and the whole stage again
	if kept, err := os.ReadFile(partFile(folder, 2, 3)); err != nil || !bytes.Equal(first, kept) {
		t.Errorf("other bytes are kept, %v", err)
	}
	fatal.If(t, os.WriteFile(partFile(folder, 2, 3), first[1:], 0o600))
	if err := execute(t.Context(), parts(j, folder, []int{2}, 3)); err == nil || !strings.Contains(err.Error(), "part 2 of 3 was made twice, with different bytes") {
		t.Errorf("execute() = %v", err)
	}
	d.nothingPublished(t)
}

// A driver that is started again, or twice, publishes the same artifact or none.
func TestPublishesOnce(t *testing.T) {
	path := testJob(t)
	d, old := withTrainingState(t, path)
	want := alone(t, path)
	var running sync.WaitGroup
	var published atomic.Int64
	for range 2 {
		one := on(t, path)
		running.Go(func() {
			err := one.certify(t.Context())
			if err == nil || errors.Is(err, pipeline.ErrNotCertified) {
				published.Add(1)
				return
			}
			t.Logf("of two at a time one fails: %v", err)
		})
	}
	running.Wait()
	if published.Load() == 0 {
		t.Error("of two at a time none publishes")
	}
	demandSame(t, want, d.published(t))
	finished(t, d.certify(t.Context()))
	demandSame(t, want, d.published(t))
	fatal.If(t, d.train(t.Context())) // by a driver that is started again
	clear(passes.made)
	if _, err := old.part(t.Context(), pass.Whole); !errors.Is(err, job.ErrChanged) {
		t.Errorf("a worker of the earlier driver goes on: %v", err)
	}
	finished(t, d.certify(t.Context()))
	demandSame(t, want, d.published(t))
}

// A driver that is killed, at any moment, publishes a whole artifact or none; started again it
// publishes that of pacsgp train.
func TestKilledDriver(t *testing.T) {
	path := testJob(t)
	d, want := on(t, path), alone(t, path)
	run, kill := killing(t, "train", path)
	fatal.If(t, os.RemoveAll(d.task.Output))
	for range 10 {
		kill()
		demandNoOther(t, want, d.published(t))
	}
	run()
	demandSame(t, want, d.published(t))
	if left, err := filepath.Glob(filepath.Join(d.task.Output, "_parts-*")); len(left) > 0 || err != nil {
		t.Errorf("%v, %v is left over", left, err)
	}
}

// killing runs a driver with these arguments to its end. It returns what does so again, and what starts
// one and kills it at a moment up to the time that one takes, and reports whether it was not over then.
func killing(t *testing.T, args ...string) (run func(), kill func() (killed bool)) {
	t.Helper()
	self, err := os.Executable()
	fatal.If(t, err)
	start := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), self, args...)
		cmd.Env = append(os.Environ(), "PACSGP_BEAM=1")
		return cmd
	}
	run = func() {
		t.Helper()
		if log, err := start().CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, log)
		}
	}
	began := time.Now()
	run()
	took, random := time.Since(began), rand.New(rand.NewPCG(1, 2))
	return run, func() bool {
		t.Helper()
		cmd := start()
		fatal.If(t, cmd.Start())
		time.Sleep(time.Duration(random.Int64N(int64(took))))
		_ = cmd.Process.Kill()
		return cmd.Wait() != nil
	}
}

// Another arithmetic is refused by name before a row is read, by drivers, by workers and through the
// engine.
func TestOtherArithmeticIsRefused(t *testing.T) {
	d, j := withTrainingState(t, testJob(t))
	path := filepath.Join(d.task.Output, config.TrainingStateFile)
	data, err := os.ReadFile(path)
	fatal.If(t, err)
	data, err = digest.Unseal(data)
	fatal.If(t, err)
	data = digest.Seal(regexp.MustCompile(`"arithmetic": *"[^"]*"`).ReplaceAll(data, []byte(`"arithmetic":"another"`)))
	fatal.If(t, os.WriteFile(path, data, 0o600))
	j.TrainingState = digest.Of(data)
	fatal.If(t, os.RemoveAll(filepath.Join(filepath.Dir(j.Job), "lake"))) // it has no reader
	fatal.If(t, os.Mkdir(filepath.Join(filepath.Dir(j.Job), "lake"), 0o700))
	_, worker := j.part(t.Context(), pass.Whole)
	engine := execute(t.Context(), parts(j, t.TempDir(), []int{1}, 1))
	for who, err := range map[string]error{"driver": d.certify(t.Context()), "worker": worker, "engine": engine} {
		if err == nil || !strings.Contains(err.Error(), `arithmetic "another"`) {
			t.Errorf("%s: %v", who, err)
		}
	}
	d.nothingPublished(t)
}
