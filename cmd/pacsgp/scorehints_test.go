package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
)

// A full disk is reported with the folder that the score file names, and a remedy.
func TestScoreToAFullDisk(t *testing.T) {
	dir, _, score := following(t, 1, 20)
	full := hooked(func(op durabletest.Operation, effect func() error) error {
		if op.Kind == durabletest.Write && strings.Contains(op.Name, "predicted") {
			return &os.PathError{Op: op.Kind, Path: op.Name, Err: syscall.ENOSPC}
		}
		return effect()
	})
	ends := func(score, folder string) {
		t.Helper()
		a := pacsgpOn(t, full, nil, "score", "-c", score, "--once")
		a.says(t, exitFailure, "predictions cannot be written, for the disk is full: "+folder+": no space left on device", "hint: free space, then run the same command again")
		if strings.Contains(a.message, ".parquet") || strings.Contains(a.message, "job") {
			t.Errorf("it says %s", a.message)
		}
	}
	writeFile(t, score, []byte("model: out\nsource: {paths: [new]}\noutput: predicted\npoll: 10ms\n"))
	ends(score, filepath.Join(dir, "predicted"))
	s := topicOf(t, seededTopics(t), 20, "")
	s.send(t)
	ends(s.toLake(t, "first", "predicted", ""), filepath.Join(s.dir, "predicted"))
}
