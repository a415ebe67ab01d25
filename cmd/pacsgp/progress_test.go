package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Start values have a bar on a terminal, and else a record at most once in a while.
func TestStartValuesHaveABar(t *testing.T) {
	var log, screen bytes.Buffer
	w := testSystem(discard{}, &log, plain(), nil)
	records := newDisplay(w)
	records.starting(1, 55)
	records.starting(2, 55)
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"msg":"start values"`) || !strings.Contains(got, `"step":1,"steps":55`) {
		t.Errorf("records: %q", got)
	}
	w.terminal, w.screen = 120, &screen
	bar := newDisplay(w)
	for done := 10; done <= 20; done += 10 {
		bar.counts = time.Time{}
		bar.starting(done, 55)
	}
	if got := screen.String(); !strings.Contains(got, "start values") || !strings.Contains(got, "(20/55)") {
		t.Errorf("bar: %q", got)
	}
}
