package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"testing"


	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// three is a sweep over [smallLake] with a best alternative that is not the
// first: the one of the lowest bound among the certified.
const three = "[{loss: {epsilon: 0.6}}, {loss: {epsilon: 0.9}}, {loss: {epsilon: 0.7}, kernel: {isotropic: true}}]"

func sweeping(change jobFile) jobFile {
	j := tiny(jobFile{"sweep": three, "loss": ""})
	maps.Copy(j, change)
	return j
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := sweeping(nil).write(t, dir)
	out := filepath.Join(dir, "out")
	a := succeed(t, "train", "-c", job)
	r := record(t, out)
	if len(r.Alternatives) != 3 || r.Best != 2 || len(published(t, out)) != 10 {
		t.Fatalf("alternatives %+v, the best is %d, %d artifacts: want 3, 2, 10", r.Alternatives, r.Best, len(published(t, out)))
	}
	for i, each := range r.Alternatives {
		document := readFile(t, filepath.Join(out, each.Certificate))
		c, err := certify.Parse(document)
		fatal.If(t, err)
		draw, _ := c.Guarantee(certify.GuaranteeDraw)
		if each.Alternative != i+1 || each.Bound != draw.Bound || each.Status != draw.Status {
			t.Errorf("alternative %d: the run record says %+v, the certificate %v (%s)", i+1, each, draw.Bound, draw.Status)
		}
		if want := math.Log(3 / 0.05); c.Delta.Alternatives != 3 || c.Delta.Alternative != int64(i+1) || !(math.Abs(draw.LnInverseDelta-want) <= 1e-14) {
			t.Errorf("alternative %d: %+v and ln 1/delta %v, want a third of delta: %v", i+1, c.Delta, draw.LnInverseDelta, want)
		}
		if c.Declared.Attempt.OnTheseRows != 1 || c.Declared.Attempt.InThisLog != 1 {
			t.Errorf("alternative %d: attempt %+v, want one for the whole sweep", i+1, c.Declared.Attempt)
		}
		pacsgp(t, "verify", filepath.Join(out, each.Model), filepath.Join(out, each.Certificate), filepath.Join(dir, "lake"), "--judge", "draw").says(t, 0, "verified:")
		if !strings.Contains(a.stdout, each.Changes) || !strings.Contains(a.stdout, each.ID[:12]) {
			t.Errorf("train does not print alternative %d: %s", i+1, a.stdout)
		}
	}
	if best := r.Alternatives[r.Best-1]; r.ID != best.ID || r.Bound != best.Bound || r.Model != best.Model {
		t.Errorf("the run record is about %s, the best is %s", r.ID, best.ID)
	}

	want := published(t, out)
	again := succeed(t, "train", "-c", job, "--workers", "1", "--memory", "1B", "--json")
	complete(t, "the same sweep again", out, want)
	var shown pipeline.RunRecord
	if err := json.Unmarshal([]byte(again.stdout), &shown); err != nil || shown.Best != 2 || len(shown.Alternatives) != 3 {
		t.Errorf("--json: %v, %+v", err, shown.Alternatives)
	}
	if got := counted(t, out, tiny(nil).write(t, dir)); got != [2]int64{2, 2} {
		t.Errorf("another job on these rows is attempt %v, want 2", got)
	}
}

// The exit status is that of the best.
func TestSweepWithoutAGoodBound(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	train := func(change jobFile, status int, message, stdout string) {
		t.Helper()
		a := pacsgp(t, "train", "-c", sweeping(change).write(t, dir))
		if a.status != status || !strings.Contains(a.message, message) || !strings.Contains(a.stdout, stdout) {
			t.Errorf("%v: status %d, want %d; %q; %.400s", change, a.status, status, a.message, a.stdout)
		}
	}
	train(jobFile{"limit": "0.0001"}, exitNotCertified, "above the job's limit", "the best: the lowest bound, among those that promise")
	best := record(t, filepath.Join(dir, "out"))
	train(jobFile{"limit": fmt.Sprint(best.Bound)}, 0, "", "the best: the lowest bound, among those that promise")
	train(jobFile{"sweep": "[{loss: {epsilon: 0.00001}}, {loss: {epsilon: 0.00002}}]"}, exitNotCertified, "vacuous", "none promises anything")
}

func TestBadSweep(t *testing.T) {
	dir := t.TempDir()
	lines(40).write(t, lakeFile(dir, 0))
	pacsgp(t, "train", "-c", sweeping(nil).write(t, dir), "--epsilon", "3").says(t, exitUsage, "--epsilon", "say their own")
	pacsgp(t, "train", "-c", tiny(jobFile{"sweep": "[{}, {features: [x9]}]"}).write(t, dir)).says(t, exitConfig, "alternative 2", "x9")
	if left := names(t, filepath.Join(dir, "out")); len(left) > 2 { // the lock and an empty log
		t.Errorf("left over: %q", left)
	}
}

// A sweep that is killed at any operation on the file system, in any of its
// alternatives, and run again gives the same bytes and the same attempt.
func TestSweepKilledThenResumed(t *testing.T) {
	t.Parallel()
	repeats(t)
	dir := t.TempDir()
	smallLake(t, dir)
	job := sweeping(jobFile{
		"checkpoint": "1ns", "inducing": "6", "train": "{mode: mini-batch, batch: 60, buffer: 90, passes: 1}",
		"sweep": "[{loss: {epsilon: 0.9}}, {loss: {epsilon: 0.8}, features: [x1]}]",
	}).write(t, dir)
	if a := pacsgp(t, "train", "-c", job); a.status != 0 && a.status != exitNotCertified {
		t.Fatal(a.message)
	}
	want := published(t, filepath.Join(dir, "out"))
	stride := 5
	if testing.Short() {
		stride = 37
	}
	for i, how := range []string{howBefore, howAfter, howHalf} {
		survived := false
		for at := 1 + i; !survived; at += stride {
			if at > 2000 {
				t.Fatalf("%s: no sweep survives", how)
			}
			out := t.TempDir()
			args := []string{"train", "-c", job, "-o", out}
			log, err := child(t, order{Args: args, At: at, How: how}).CombinedOutput()
			survived = !killed(err)
			when := fmt.Sprintf("operation %d: %s", at, lastLine(log))
			whole(t, when, out, want)
			if a := pacsgp(t, args...); a.status != 0 && a.status != exitNotCertified {
				t.Fatalf("%s: run again: %s", when, a.message)
			}
			complete(t, when, out, want)
		}
	}
}

// An interrupted sweep says where it goes on, and its own checkpoints are not
// taken for another job's.
func TestInterruptedSweep(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := sweeping(nil).write(t, dir)
	interrupted(t, "alternative 2 of 3", "train", "-c", job).says(t, exitInterrupted, "interrupted")
	a := succeed(t, "train", "-c", job)
	if strings.Contains(a.log, "kept for another job") || !strings.Contains(a.log, "resumed from the checkpoint") {
		t.Errorf("the log: %s", a.log)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out", "checkpoint-*")); left != nil {
		t.Errorf("left over: %q", left)
	}
	if r := record(t, filepath.Join(dir, "out")); r.Attempt.OnTheseRows != 1 {
		t.Errorf("attempt %+v", r.Attempt)
	}
}
