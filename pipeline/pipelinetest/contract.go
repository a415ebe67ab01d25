package pipelinetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// TestOutput checks the contract of [pipeline.Output], and the contracts of its sink and its checkpoints. location makes
// an empty location, and returns a function that opens it as another process would.
func TestOutput(t *testing.T, location func(t *testing.T) (open func(t *testing.T) pipeline.Output)) {
	t.Helper()
	TestSink(t, func(t *testing.T) func(*testing.T) pass.Sink {
		next := inTurn(t, location(t))
		return func(t *testing.T) pass.Sink { return next(t) }
	})
	TestCheckpoints(t, func(t *testing.T) func(*testing.T) fit.Checkpoints {
		next := inTurn(t, location(t))
		return func(t *testing.T) fit.Checkpoints { return next(t).Checkpoint(job.Digest{1}) }
	})
	t.Run("hold", func(t *testing.T) { testHold(t, location(t)) })
	for name, test := range map[string]func(*testing.T, func(*testing.T) pipeline.Output){
		"certificates": testCertificates, "manifests": testManifests, "positions of checkpoints": testCheckpointLocations,
		"runs": testRuns, "pointer": testPointer, "numbers": testNumbers, "log": testLog, "retain": testRetain, "training state": testTrainingState,
	} {
		t.Run(name, func(t *testing.T) { test(t, inTurn(t, location(t))) })
	}
}

// inTurn returns a function that opens and holds a location, after it has released the hold of its last call.
func inTurn(t *testing.T, open func(*testing.T) pipeline.Output) func(*testing.T) pipeline.Output {
	release := func() error { return nil }
	giveBack := func() { must(t, "release", release()) }
	t.Cleanup(giveBack)
	return func(t *testing.T) pipeline.Output {
		t.Helper()
		giveBack()
		o := open(t)
		release = hold(t, o)
		return o
	}
}

func hold(t *testing.T, o pipeline.Output) func() error {
	t.Helper()
	release, err := o.Hold()
	must(t, "Hold", err)
	return release
}

// must fails the test if err is not nil.
func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// A hold within a hold is part of the outer one, which lasts until its own release. A hold excludes other holders, or
// prevents that they overwrite each other's writes.
func testHold(t *testing.T, open func(*testing.T) pipeline.Output) {
	one, other := open(t), open(t)
	refused := func(when string) {
		t.Helper()
		release, err := other.Hold()
		if err != nil {
			return
		}
		_, _, err = other.Note("night.json")
		must(t, "Note", err)
		must(t, "PutNote", one.PutNote("night.json", []byte(when)))
		if other.PutNote("night.json", []byte("2")) == nil {
			t.Fatalf("%s: another holder reserves the same number", when)
		}
		must(t, "release", release())
	}
	if c, err := one.Current(); c != nil || err != nil {
		t.Errorf("before it is held Current = %v, %v, want nothing", c, err)
	}
	if runs := names(t, one); runs != "" {
		t.Errorf("before it is held there are the runs %q", runs)
	}
	outer := hold(t, one)
	refused("held")
	inner := hold(t, one)
	refused("held twice")
	must(t, "give back", inner())
	refused("held once more")
	put(t, one, SmallModel(0.5))
	must(t, "give back", outer())
	must(t, "give back", hold(t, other)())
	must(t, "give back", hold(t, one)())
}

func testCertificates(t *testing.T, next func(*testing.T) pipeline.Output) {
	o := next(t)
	a := publish(t, o, 0.5, "one")
	o = next(t)
	c, err := o.GetCertificate(t.Context(), a.ID)
	if err != nil || c.Publisher.Software != "one" || c.Model.Digest != a.Model {
		t.Errorf("GetCertificate = %v, %v, want what was put", c.Publisher, err)
	}
	if _, err := o.GetCertificate(t.Context(), digest.Of([]byte("none"))); err == nil {
		t.Error("GetCertificate of one that was never put: no error")
	}
	canceled(t, func(ctx context.Context) []error {
		_, err := o.GetCertificate(ctx, a.ID)
		return []error{err}
	})
}

// publish stores a model and a certificate for it.
func publish(t *testing.T, o pipeline.Output, mean float64, software string) pipeline.ArtifactRef {
	t.Helper()
	digest := put(t, o, SmallModel(mean))
	id, err := o.PutCertificate(t.Context(), SmallCertificate(digest, software))
	must(t, "PutCertificate", err)
	return pipeline.ArtifactRef{ID: id, Model: digest}
}

// A manifest about a dataset that is not its certificate's is refused.
func testManifests(t *testing.T, next func(*testing.T) pipeline.Output) {
	o := next(t)
	shard := job.Digest{7}
	var c certify.Certificate
	c.Counts.Rows, c.Sample.Digest = 3, dataset.SampleDigest([]job.Digest{shard}).String()
	id := digest.Of([]byte("certificate"))
	m := pipeline.Manifest{
		Format: "pacsgp-manifest/1", Certificate: id, Sample: c.Sample.Digest,
		Files: []dataset.ManifestFile{{Path: "a.parquet", Bytes: 10, Rows: 3, Footer: id, Shards: []dataset.ManifestShard{{Rows: 3, Digest: shard.String()}}}},
	}
	must(t, "PutManifest", o.PutManifest(m))
	o = next(t)
	got, err := o.GetManifest(c, id)
	if err != nil || got.Sample != m.Sample || len(got.Files) != 1 || got.Files[0].Path != "a.parquet" || got.Files[0].Shards[0] != m.Files[0].Shards[0] {
		t.Errorf("GetManifest = %+v, %v, want %+v", got, err, m)
	}
	c.Sample.Digest = dataset.SampleDigest([]job.Digest{{8}}).String()
	if _, err := o.GetManifest(c, id); !errors.Is(err, job.ErrRefused) {
		t.Errorf("a manifest of another sample: %v, want ErrRefused", err)
	}
	if _, err := o.GetManifest(c, digest.Of([]byte("none"))); err == nil {
		t.Error("GetManifest of one that was never put: no error")
	}
}

// Each job has a checkpoint of its own.
func testCheckpointLocations(t *testing.T, next func(*testing.T) pipeline.Output) {
	o := next(t)
	must(t, "Save", o.Checkpoint(job.Digest{1}).Save(t.Context(), []byte("one")))
	must(t, "Save", o.Checkpoint(job.Digest{2}).Save(t.Context(), []byte("two")))
	must(t, "Clear", o.Checkpoint(job.Digest{2}).Clear(t.Context()))
	o = next(t)
	for j, want := range map[byte][]byte{1: []byte("one"), 2: nil, 3: nil} {
		c := o.Checkpoint(job.Digest{j})
		kept(t, "opened again", c, want)
		if location, there := c.Where(); location == "" || there != (want != nil) {
			t.Errorf("job %d: Where = %q, %v, want a name and %v", j, location, there, want != nil)
		}
	}
	_, err := o.Warnings([]job.Digest{{1}})
	must(t, "Warnings", err)
}

// state returns the record of run n, which began n minutes after run 0.
func state(n int, s pipeline.State, published ...pipeline.ArtifactRef) *pipeline.RunState {
	return &pipeline.RunState{
		Format: pipeline.RunStateFormat, Run: strconv.Itoa(n), State: s,
		Began: time.Date(2024, 2, 29, 23, 50+n, 0, 1, time.UTC), Artifacts: published,
	}
}

// names returns the names of an output's runs, in their order.
func names(t *testing.T, o pipeline.Output) string {
	t.Helper()
	all, err := o.Runs()
	must(t, "Runs", err)
	var found []string
	for r := range all {
		found = append(found, r.Run+" "+string(r.State))
	}
	return strings.Join(found, ", ")
}

// Runs returns the newest record first, whatever the order in which they were stored, and a later state of a run replaces
// an earlier one.
func testRuns(t *testing.T, next func(*testing.T) pipeline.Output) {
	o := next(t)
	for _, r := range []*pipeline.RunState{
		state(1, pipeline.StateRunning), state(0, pipeline.StateFailed), state(2, pipeline.StateRunning), state(1, pipeline.StateFinished, pipeline.ArtifactRef{ID: "1", Model: "2"}),
	} {
		must(t, "PutRun", o.PutRun(r))
		r.State = "changed by the caller"
	}
	o = next(t)
	if got, want := names(t, o), "2 running, 1 finished, 0 failed"; got != want {
		t.Errorf("the runs are %q, want %q", got, want)
	}
	all, err := o.Runs()
	must(t, "Runs", err)
	for r := range all {
		if r.Run == "1" && (len(r.Artifacts) != 1 || r.Artifacts[0] != pipeline.ArtifactRef{ID: "1", Model: "2"}) {
			t.Errorf("the finished run has published %v", r.Artifacts)
		}
	}
}

func testPointer(t *testing.T, next func(*testing.T) pipeline.Output) {
	o := next(t)
	if c, err := o.Current(); c != nil || err != nil {
		t.Errorf("of a new location Current = %v, %v, want nothing", c, err)
	}
	for _, mean := range []float64{0.5, 0.25} {
		want := pipeline.Current{
			ArtifactRef: publish(t, o, mean, "one"), Verdict: pipeline.Verdict{Bound: mean}, Predictor: certify.PredictorDraw, Since: time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC),
		}
		must(t, "Point", o.Point(want))
		o = next(t)
		if c, err := o.Current(); err != nil || c == nil || *c != want {
			t.Errorf("Current = %v, %v, want %v", c, err, want)
		}
	}
}

// Retain leaves the newest finished runs, the runs between them, the current artifact, and models that remaining runs share
// with older ones.
func testRetain(t *testing.T, next func(*testing.T) pipeline.Output) {
	o := next(t)
	current, old := publish(t, o, 0, "current"), publish(t, o, 1, "old")
	sharing, kept := publish(t, o, 2, "sharing"), publish(t, o, 2, "kept")
	newest := publish(t, o, 3, "newest")
	for _, r := range []*pipeline.RunState{
		state(0, pipeline.StateFinished, current), state(1, pipeline.StateFinished, old), state(2, pipeline.StateFailed),
		state(3, pipeline.StateFinished, sharing), state(4, pipeline.StateFinished, kept), state(5, pipeline.StateFailed), state(6, pipeline.StateFinished, newest),
	} {
		must(t, "PutRun", o.PutRun(r))
	}
	must(t, "Point", o.Point(pipeline.Current{ArtifactRef: current, Predictor: certify.PredictorMean}))
	must(t, "Retain", o.Retain(2))
	o = next(t)
	if got, want := names(t, o), "6 finished, 5 failed, 4 finished, 0 finished"; got != want {
		t.Errorf("the runs are %q, want %q", got, want)
	}
	for _, c := range []struct {
		name               string
		of                 pipeline.ArtifactRef
		certificate, model bool
	}{{"current", current, true, true}, {"old", old, false, false}, {"sharing", sharing, false, true}, {"kept", kept, true, true}, {"newest", newest, true, true}} {
		_, err := o.GetCertificate(t.Context(), c.of.ID)
		_, err2 := o.GetModel(t.Context(), c.of.Model)
		if (err == nil) != c.certificate || (err2 == nil) != c.model {
			t.Errorf("%s: certificate %v, model %v, want them there: %v, %v", c.name, err, err2, c.certificate, c.model)
		}
	}
}

// Retain leaves notes, and the record of the run with the last number of a sequence.
func testNumbers(t *testing.T, next func(*testing.T) pipeline.Output) {
	o := next(t)
	if text, where, err := o.Note("night.json"); text != nil || where == "" || err != nil {
		t.Errorf("of a note that is not there: %q at %q, %v", text, where, err)
	}
	for _, text := range []string{"first", "{}"} {
		must(t, "PutNote", o.PutNote("night.json", []byte(text)))
	}
	scheduled := func(n int, number int64) *pipeline.RunState {
		r := state(n, pipeline.StateFailed)
		r.Scheduled = &pipeline.Scheduled{Job: "night", Sequence: number, Files: []dataset.ManifestFile{{Path: "b"}, {Path: "a"}}}
		return r
	}
	for _, r := range []*pipeline.RunState{scheduled(0, 1), scheduled(1, 2), scheduled(2, 0), state(3, pipeline.StateFinished)} {
		must(t, "PutRun", o.PutRun(r))
	}
	must(t, "Retain", o.Retain(1))
	o = next(t)
	if text, _, err := o.Note("night.json"); string(text) != "{}" || err != nil {
		t.Errorf("Note: %q, %v", text, err)
	}
	all, err := o.Runs()
	must(t, "Runs", err)
	for r := range all {
		if of := r.Scheduled; of != nil && (of.Sequence != 2 || len(of.Files) != 2 || of.Files[0].Path != "b") {
			t.Errorf("the run %+v is there", of)
		}
	}
	if got, want := names(t, o), "3 finished, 1 failed"; got != want {
		t.Errorf("the runs are %q, want %q", got, want)
	}
	if found, err := o.Numbered(t.Context(), "night"); err != nil || len(found) != 0 {
		t.Errorf("Numbered without certificates: %v, %v", found, err)
	}
	a := publish(t, o, 0, "one of no sequence")
	if found, err := o.Numbered(t.Context(), "night"); err != nil || len(found) != 0 {
		t.Errorf("Numbered with a certificate of no sequence: %v, %v; %s", found, err, a.ID)
	}
}

func testTrainingState(t *testing.T, next func(*testing.T) pipeline.Output) {
	o := next(t)
	h := &pass.TrainingState{Format: pass.TrainingStateFormat, Model: digest.Of([]byte("no model"))}
	if err := o.PutTrainingState(t.Context(), h); err == nil {
		t.Error("PutTrainingState without its model: no error")
	}
	must(t, "PutTrainingState of a first pass", o.PutTrainingState(t.Context(), &pass.TrainingState{Format: pass.TrainingStateFormat}))
	h.Model = put(t, o, SmallModel(0.5))
	for range 2 {
		must(t, "PutTrainingState", o.PutTrainingState(t.Context(), h))
	}
	o = next(t)
	for range 2 { // of none it is no error
		must(t, "DropTrainingState", o.DropTrainingState())
	}
}

// The next process reads the log that was stored last.
func testLog(t *testing.T, next func(*testing.T) pipeline.Output) {
	o, want := next(t), fit.Log{}
	for i := range byte(3) {
		if got, err := o.Log(); err != nil || !slices.Equal(want.Attempts, got.Attempts) || !slices.Equal(want.Uses, got.Uses) {
			t.Errorf("Log() = %v, %v, want %v", got, err, want)
		}
		want.Attempts = append(want.Attempts, fit.Attempt{Targets: job.Digest{i}, Configuration: job.Digest{31: 1}})
		want.Uses = append(want.Uses, fit.Use{Rows: job.Digest{i}, Count: int64(i) + 1, Curve: i == 1, Groups: int(i)})
		must(t, "PutLog", o.PutLog(want))
		o = next(t)
	}
}
