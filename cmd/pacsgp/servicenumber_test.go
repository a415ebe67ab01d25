package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
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
	done := filepath.Join(out, donePrefix+form(1))
	for range 1000 { // until the window has its last name
		if len(windowNames(names(t, out))) == 1 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.end(t)
	working, err := serials(out, workingPrefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, serial := range working {
		if err := os.RemoveAll(filepath.Join(out, workingPrefix+form(serial))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(done, filepath.Join(out, workingPrefix+form(1))); err != nil {
		t.Fatal(err)
	}
	fillTopic(t, address, 180) // 360: three windows
	r = startService(t, "-c", job)
	all := awaitCertificates(t, address, 3, r)
	r.end(t)
	onceEach(t, "trainers", all) // no number is taken twice
}
