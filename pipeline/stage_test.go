package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// What a run lacks, or cannot state, is reported before rows are opened or the output is held: all of it at once.
func TestTrainNeedsItsPorts(t *testing.T) {
	ctx, declared := t.Context(), job.Job{Target: "y", Loss: job.LossDecl{EpsilonStd: 0.6}, Delta: 0.01}
	want := []string{"its defaults are not filled in", "Rows is not set", "Output is not set", "Software is not set"}
	_, err := pipeline.CertifyParts(ctx, nil, pass.Model{}, nil, declared, nil, nil, pipeline.RunConfig{})
	demandFaults(t, "CertifyParts", err, want)
	_, err = pipeline.Train(ctx, declared, nil, nil, pipeline.RunConfig{})
	demandFaults(t, "Train", err, want)
	demandFaults(t, "TrainForParts", pipeline.TrainForParts(ctx, declared, nil, nil, pipeline.RunConfig{Software: "a\nb"}), append(want[:3:3], `Software: software "a\nb" holds U+000A`))
	_, err = pipeline.Run(ctx, declared, fit.Environment{Software: "a\nb"})
	demandFaults(t, "Run", err, []string{"its defaults are not filled in", "Open of", "Sink of", "Log of", "Checkpoints of", `Software of the environment: software "a\nb" holds U+000A`})
}

// A trial is runs of Train on columns in memory, to an output in memory.
type trial struct {
	*testing.T
	out  *pipelinetest.Output
	rows dataset.Rows
	how  pipeline.RunConfig
}

func newTrial(t *testing.T) *trial {
	out := &pipelinetest.Output{Store: &pipelinetest.Store{}}
	return &trial{
		T: t, out: out, rows: source(waves(600, 0.1, 1)).Table,
		how: pipeline.RunConfig{Run: "1", Software: "pacsgp test"},
	}
}

// train runs a job, and counts the steps that it reports.
func (t *trial) train(j job.Job) (o *pipeline.Outcome, steps int, err error) {
	t.Helper()
	t.how.Observer.Progress = func(job.Progress) { steps++ }
	o, err = pipeline.Train(t.Context(), j, t.rows, t.out, t.how)
	release, held := t.out.Hold()
	if held != nil || release() != nil {
		t.Fatalf("after the run the output is not free: %v", held)
	}
	return o, steps, err
}

// done is train of a run that must end without an error.
func (t *trial) done(j job.Job) (o *pipeline.Outcome, steps int) {
	t.Helper()
	o, steps, err := t.train(j)
	fatal.If(t, err)
	return o, steps
}

// demand demands the states of the runs, the newest first, and the certificate that is current.
func (t *trial) demand(states, current string) {
	t.Helper()
	all, err := t.out.Runs()
	fatal.If(t, err)
	var found []string
	for r := range all {
		found = append(found, string(r.State))
		if r.Ended == nil || (r.State == pipeline.StateFinished) != (r.Record != nil && r.Exit != nil && len(r.Artifacts) == 1) {
			t.Errorf("the record %+v is not whole", r)
		}
	}
	if got := strings.Join(found, " "); got != states {
		t.Errorf("the runs are %q, want %q", got, states)
	}
	c, err := t.out.Current()
	if err != nil || (c != nil) != (current != "") || c != nil && c.ID != current {
		t.Errorf("current is %v, %v, want the certificate %q", c, err, current)
	}
}

// The pointer moves with status 0 only, and where it may.
func TestTrainInMemory(t *testing.T) {
	w := newTrial(t)
	w.how.Conclude = func(context.Context, *pipeline.RunState, *pipeline.Outcome, error) {}
	o, _ := w.done(testJob(t, tiny))
	w.demand("finished", "")
	w.how.Conclude, w.how.Limit = nil, 1e-9
	if o, _ := w.done(testJob(t, tiny)); o.Record.Exit != pipeline.ExitNotCertified || !strings.Contains(o.Record.Fault, "above what the job requires") {
		t.Errorf("above the limit: status %d, %q", o.Record.Exit, o.Record.Fault)
	}
	w.demand("finished finished", "")
	w.how.Limit = 0
	again, steps := w.done(testJob(t, tiny))
	if again.Result.ID != o.Result.ID || again.Record.Exit != 0 || again.Record.Required != certify.PredictorMean || steps == 0 {
		t.Errorf("the same job again: certificate %s, status %d, %d steps, want %s, 0, and some", again.Result.ID, again.Record.Exit, steps, o.Result.ID)
	}
	w.demand("finished finished finished", o.Result.ID)
	if log, err := w.out.Log(); err != nil || len(log.Attempts) != 1 || w.out.TrainingState != nil {
		t.Errorf("%d attempts, want 1; training state %v", len(log.Attempts), w.out.TrainingState)
	}
}

// filed says that rows are one file.
type filed struct {
	dataset.Rows
	file dataset.File
}

type filedOpened struct {
	dataset.Opened
	file dataset.File
}

// Open opens the rows.
func (f *filed) Open(ctx context.Context, c dataset.Choice) (dataset.Opened, error) {
	src, err := f.Rows.Open(ctx, c)
	return filedOpened{src, f.file}, err
}

// Files is the one file.
func (o filedOpened) Files() []dataset.File { return []dataset.File{o.file} }

// The same job on the same file trains nothing, and does on another one.
func TestTrainAgainOnTheSameFile(t *testing.T) {
	w := newTrial(t)
	f := &filed{w.rows, dataset.File{Path: "a.parquet", Bytes: 10, Rows: 600, RowGroups: 1, Modified: time.Now().Add(-time.Hour)}}
	w.rows = f
	w.how.Conclude = func(context.Context, *pipeline.RunState, *pipeline.Outcome, error) {}
	o, _ := w.done(testJob(t, tiny))
	w.demand("finished", "")
	if _, err := w.out.GetManifest(o.Result.Certificate, o.Result.ID); err != nil {
		t.Error(err)
	}
	w.how.Conclude = nil
	again, steps := w.done(testJob(t, tiny))
	if steps != 0 || again.Result.ID != o.Result.ID {
		t.Errorf("%d steps gave the certificate %s, want none and %s", steps, again.Result.ID, o.Result.ID)
	}
	w.demand("finished", o.Result.ID)
	f.file.Bytes++
	if _, steps := w.done(testJob(t, tiny)); steps == 0 {
		t.Error("nothing is trained on another file")
	}
	w.demand("finished finished", o.Result.ID)
}

// A run that fails is recorded as failed, and the next one goes on from what it has left.
func TestTrainFails(t *testing.T) {
	w := newTrial(t)
	w.how.Report = func(*pipeline.Outcome) error { return errSource }
	if _, _, err := w.train(testJob(t, tiny)); !errors.Is(err, errSource) {
		t.Errorf("error %v, want %v", err, errSource)
	}
	w.demand("failed", "")
	digest, err := testJob(t, tiny).Digest()
	fatal.If(t, err)
	if _, there := w.out.Checkpoint(digest).Where(); !there {
		t.Error("the failed run has left no checkpoint")
	}
	w.how.Report = nil
	o, _ := w.done(testJob(t, tiny))
	w.demand("finished failed", o.Result.ID)
	if _, there := w.out.Checkpoint(digest).Where(); there {
		t.Error("the finished run has left its checkpoint")
	}
}

func TestTrainKeeps(t *testing.T) {
	w := newTrial(t)
	w.how.Retain = 1
	first, _ := w.done(testJob(t, tiny))
	last, _ := w.done(testJob(t, func(j *job.Job) { tiny(j); j.Delta = 0.02 }))
	w.demand("finished", last.Result.ID)
	if _, err := w.out.GetCertificate(t.Context(), first.Result.ID); err == nil || len(w.out.Certificates) != 1 {
		t.Errorf("%d certificates, want that of the last run: %v", len(w.out.Certificates), err)
	}
}

// A stopping publisher is interrupted while it publishes.
type stopping struct{ stop func() }

func (stopping) Check(context.Context) error { return nil }

func (p stopping) Publish(ctx context.Context, _ *pipeline.Result, _ error) error {
	p.stop()
	return fmt.Errorf("no broker answers: %w", ctx.Err())
}

// A run that is interrupted while it publishes says that, and not what its brokers said.
func TestTrainIsInterruptedWhilePublishing(t *testing.T) {
	w := newTrial(t)
	ctx, stop := context.WithCancel(t.Context())
	w.how.Publisher = stopping{stop}
	_, err := pipeline.Train(ctx, testJob(t, tiny), w.rows, w.out, w.how)
	if !errors.Is(err, pipeline.ErrInterrupted) || strings.Contains(err.Error(), "broker") {
		t.Error(err)
	}
	w.demand("failed", "")
}

// An untidy output cannot remove old runs and checkpoints.
type untidy struct{ *pipelinetest.Output }

func (untidy) Retain(int) error { return errSource }

func (o untidy) Checkpoint(job job.Digest) fit.Checkpoints {
	return lasting{o.Output.Checkpoint(job)}
}

type lasting struct{ fit.Checkpoints }

func (lasting) Clear(context.Context) error { return errSource }

// A full output cannot store checkpoints.
type full struct{ *pipelinetest.Output }

func (o full) Checkpoint(job job.Digest) fit.Checkpoints { return unwritable{o.Output.Checkpoint(job)} }

type unwritable struct{ fit.Checkpoints }

func (unwritable) Save(context.Context, []byte) error { return errSource }

// An interrupted run says why its last steps are lost.
func TestTrainIsInterruptedOnAFullDisk(t *testing.T) {
	w := newTrial(t)
	ctx, stop := context.WithCancel(t.Context())
	w.how.Observer.Progress = func(p job.Progress) {
		if p.Phase == job.PhaseTrain {
			stop()
		}
	}
	_, err := pipeline.Train(ctx, testJob(t, tiny), w.rows, full{w.out}, w.how)
	if !errors.Is(err, pipeline.ErrInterrupted) || !strings.Contains(err.Error(), "lost: "+errSource.Error()) {
		t.Error(err)
	}
}

// A run whose old files cannot be removed is finished all the same.
func TestTrainCannotTidyUp(t *testing.T) {
	w := newTrial(t)
	w.how.Retain = 1
	o, err := pipeline.Train(t.Context(), testJob(t, tiny), w.rows, untidy{w.out}, w.how)
	if o == nil || !errors.Is(err, errSource) {
		t.Fatalf("outcome %v, error %v, want both", o, err)
	}
	w.demand("finished", o.Result.ID)
}

// A number has one certificate: another one is not published.
func TestTrainPublishesWhatStands(t *testing.T) {
	j := testJob(t, tiny)
	j.Repeated = true
	w := newTrial(t)
	first, _ := w.done(j.Numbered("nights", 1))
	w.how.Certified, w.out.Store = first.Result.ID, &pipelinetest.Store{}
	if again, _ := w.done(j.Numbered("nights", 1)); again.Result.ID != first.Result.ID {
		t.Errorf("the same run gives %s and %s", first.Result.ID, again.Result.ID)
	}
	w.how.Certified, w.out.Store = strings.Repeat("0", 64), &pipelinetest.Store{}
	if _, _, err := w.train(j.Numbered("nights", 1)); err == nil || !strings.Contains(err.Error(), "number 1 of sequence") || len(w.out.Certificates) != 0 {
		t.Errorf("%d certificates, %v", len(w.out.Certificates), err)
	}
}
