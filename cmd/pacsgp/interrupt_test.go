package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A trip interrupts the command when it logs a word.
type trip struct {
	bytes.Buffer
	word      string
	interrupt func()
}

func (r *trip) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(r.word)) {
		r.interrupt()
	}
	return r.Buffer.Write(b)
}

// interrupted calls the command and interrupts it when it logs the word; an
// empty word: before it begins.
func interrupted(t *testing.T, word string, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if word == "" {
		cancel()
	}
	var stdout, message bytes.Buffer
	err := run(ctx, args, testSystem(&stdout, &trip{word: word, interrupt: cancel}, plain()))
	if err == nil {
		t.Fatalf("pacsgp %q was to be interrupted and says %s", args, &stdout)
	}
	explain(&message, 0, err)
	if strings.Contains(message.String(), "context canceled") {
		t.Errorf("the user reads %q", &message)
	}
	return answer{stdout: stdout.String(), message: message.String(), status: status(err)}
}

// An interrupted job says where it stands. Another job in the same directory
// leaves its checkpoint alone, and it goes on from there.
func TestInterruptedThenAnotherJob(t *testing.T) {
	j, want, _ := uninterrupted(t, "")
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"train", "-c", j, "-o", out}

	interrupted(t, `"`+string(job.PhaseFirstPass)+`"`, args...).says(t, exitInterrupted, "interrupted before there was anything to keep", "starts from the beginning")
	first := interrupted(t, `"`+string(job.PhaseTrain)+`"`, args...)
	checkpoint := only(t, filepath.Join(out, "checkpoint-*"))
	kept := readFile(t, checkpoint)
	first.says(t, exitInterrupted, "interrupted: the same command goes on from the checkpoint "+checkpoint)

	another := filepath.Join(filepath.Dir(j), "another.yaml")
	writeFile(t, another, bytes.Replace(readFile(t, j), []byte("epsilon: 0.7"), []byte("epsilon: 0.8"), 1))
	pacsgp(t, "train", "-c", another, "-o", out).logs(t, 0, checkpoint+" is kept for another job that was not finished")
	if !bytes.Equal(readFile(t, checkpoint), kept) {
		t.Error("another job in the same directory has changed the checkpoint")
	}
	if again := succeed(t, args...); !strings.Contains(again.log, "resumed from the checkpoint") || !record(t, out).Training.Resumed {
		t.Errorf("the job does not go on: %s", again.log)
	}
	for name, content := range want {
		if got := published(t, out)[name]; strings.HasPrefix(name, "model-") && got != content {
			t.Errorf("%s is not that of an uninterrupted run", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(out, "checkpoint-*")); left != nil {
		t.Errorf("left over: %q", left)
	}
}

// What does not end after a signal is ended, and not before its time.
func TestAfterSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan time.Time, 1)
		afterSignal(ctx, func() { ended <- time.Now() })
		time.Sleep(time.Hour)
		signal := time.Now()
		cancel()
		if took := (<-ended).Sub(signal); took != patience {
			t.Errorf("it is ended after %v, want %v", took, patience)
		}
	})
}

func TestInterruptedReaders(t *testing.T) {
	a := trained(t)
	for _, args := range [][]string{
		{"verify", a.model, a.certificate, a.lake},
		{"predict", a.model, a.certificate, a.lake, "-o", filepath.Join(a.dir, "predictions.parquet")},
	} {
		if got := interrupted(t, "", args...); got.status != exitInterrupted || got.message != "pacsgp: interrupted\n" {
			t.Errorf("pacsgp %q: status %d, message %q", args, got.status, got.message)
		}
	}
}

// Two hundred million rows in 8 KiB are honest, and take long: a signal ends
// that at any moment, and plan says how long it takes.
func TestManyRowsAreInterrupted(t *testing.T) {
	file, err := filepath.Abs(filepath.Join("..", "..", "ingest", "lake", "testdata", "hostile", "honest-rows-in-few-bytes.parquet"))
	fatal.If(t, err)
	job := tiny(jobFile{"source": "{paths: [" + file + "]}", "target": "ab", "duplicates": "keep"}).write(t, t.TempDir())
	var said planned
	fatal.If(t, json.Unmarshal([]byte(succeed(t, "plan", "-c", job, "--json").stdout), &said))
	if said.Rows != 2e8 || said.Seconds < 6 {
		t.Errorf("plan says %d rows and %v s", said.Rows, said.Seconds)
	}
	for _, after := range []time.Duration{time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(after, cancel)
		if err := run(ctx, []string{"train", "-c", job}, testSystem(discard{}, discard{}, plain())); !errors.Is(err, pipeline.ErrInterrupted) {
			t.Errorf("after %v: %v", after, err)
		}
	}
}
