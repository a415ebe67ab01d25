package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
)

// TestOvertaken: of two jobs on the same rows from where a group stands, the one that
// publishes later does not: every row is in one certificate. It says so before it trains
// too, when it is run again.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	c := smallTopic(t)
	j := topicJob{c, "small", "committed"}
	slow, fast := t.TempDir(), t.TempDir()
	jobSlow, jobFast := j.write(t, slow), j.write(t, fast)
	succeed(t, "topics", "-c", jobSlow)
	overtaken := false
	files := hooked(func(op durabletest.Operation, effect func() error) error {
		if !overtaken && op.Kind == durabletest.Rename && strings.HasPrefix(filepath.Base(op.Name), "certificate-") {
			overtaken = true
			fillTopic(t, c.ListenAddrs()[0], 180) // the other window is longer
			succeed(t, "train", "-c", jobFast)
		}
		return effect()
	})
	for _, fsys := range []durable.FS{files, plain()} {
		a := pacsgpOn(t, fsys, nil, "train", "-c", jobSlow)
		a.says(t, exitFailure, "another job has published these rows", "hint: remove the spool")
	}
	if n := committed(t, c, "small-certificates"); n != 1 || !overtaken {
		t.Errorf("%d certificates, want 1", n)
	}
}
