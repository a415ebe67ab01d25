package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// TestNumbersBelongToSegments: a window does not take the number that its folder holds if that
// was taken for other rows, as where a stream was killed when the spool of a published window
// was gone and its folder had not its last name. That number is published.
func TestNumbersBelongToSegments(t *testing.T) {
	c := smallTopic(t) // 180 rows: a window of 120, and 60 rows in the spool
	address := c.ListenAddrs()[0]
	dir := t.TempDir()
	job := serviceJob(t, address, dir, nil)
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	awaitCertificates(t, address, 1, r)
	out := filepath.Join(dir, "out")
	awaitFolders(t, out, 1)
	r.end(t)
	unfinished(t, out, 1)
	fillTopic(t, address, 180) // 360: three windows
	r = startService(t, "-c", job)
	all := awaitCertificates(t, address, 3, r)
	r.end(t)
	onceEach(t, "trainers", all) // no number is taken twice
}

// awaitFolders waits until so many windows have their last names.
func awaitFolders(t *testing.T, out string, count int) {
	t.Helper()
	for range 1000 {
		if len(windowNames(names(t, out))) >= count {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%q, want %d windows that are done", names(t, out), count)
}

// unfinished leaves of all windows that of a number, as if it were the first and not done yet.
func unfinished(t *testing.T, out string, number int64) {
	t.Helper()
	working, err := serials(out, workingPrefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, serial := range working {
		if err := os.RemoveAll(filepath.Join(out, workingPrefix+form(serial))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(out, donePrefix+form(number)), filepath.Join(out, workingPrefix+form(1))); err != nil {
		t.Fatal(err)
	}
}

// TestNumbersBelongToJobs: a bound is known, and its window is not committed, when the job is
// changed. The certificate of the new job, of the same rows, has another number.
func TestNumbersBelongToJobs(t *testing.T) {
	for _, once := range []bool{false, true} {
		t.Run(fmt.Sprintf("exactly once %v", once), func(t *testing.T) {
			c := smallTopic(t)
			address, dir, key := c.ListenAddrs()[0], t.TempDir(), kmsg.OffsetCommit
			if once {
				key = kmsg.TxnOffsetCommit
			}
			publish := fmt.Sprintf("{kafka: {name: small, exactly_once: %v}}", once)
			job := serviceJob(t, address, dir, jobFile{"publish": publish})
			succeed(t, "topics", "-c", job)
			fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.PolicyViolation, Count: -1})
			r := startService(t, "-c", job)
			select {
			case <-r.done:
			case <-time.After(time.Minute):
				t.Fatal(r.says())
			}
			if r.err == nil {
				t.Fatal("it ended well")
			}
			fault.Remove()
			r = startService(t, "-c", serviceJob(t, address, dir, jobFile{"publish": publish, "loss": "{epsilon: 0.9}"}))
			awaitFolders(t, filepath.Join(dir, "out"), 1)
			r.end(t)
			numbers := map[int64]string{}
			for _, x := range certificates(t, address, "pacsgp-certificates") {
				numbers[x.Delta.Sequence.Number] += fmt.Sprint(x.Guarantees[0].Loss.Epsilon, " ")
			}
			want := map[int64]string{1: "0.7 ", 2: "0.9 "}
			if once {
				delete(want, 1) // its bound was known, and nobody sees it
			}
			if !maps.Equal(numbers, want) {
				t.Errorf("tolerances by number: %v, want %v", numbers, want)
			}
		})
	}
}

// TestAncestorBelongsToWindow: the model that was noted for a window is not taken for another
// one whose rows it has seen, as where the group's offsets were set back.
func TestAncestorBelongsToWindow(t *testing.T) {
	c := smallTopic(t)
	address, dir := c.ListenAddrs()[0], t.TempDir()
	job := serviceJob(t, address, dir, jobFile{"stream": "{keep: 5}", "guarantees": "[pac-bayes, holdout]"})
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	awaitCertificates(t, address, 1, r)
	fillTopic(t, address, 180)
	awaitCertificates(t, address, 3, r)
	out := filepath.Join(dir, "out")
	awaitFolders(t, out, 3)
	r.end(t)
	unfinished(t, out, 3)
	client, err := broker.NewClient(broker.Config{Brokers: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	w, err := client.NewWriter(t.Context(), "")
	if err == nil {
		err = w.CommitOffsets(t.Context(), "trainers", "rows", map[int]int64{0: 0, 1: 0, 2: 0}, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	r = startService(t, "-c", job)
	all := awaitCertificates(t, address, 4, r)
	r.end(t)
	if got := all[3].Declared.Training.Ancestor; got != nil {
		t.Errorf("certificate 4 began with the model of %+v", got)
	}
}
