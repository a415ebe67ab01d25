package durable_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// everyFault runs write on file systems that die or fill up at each of its operations, and
// shows what is found after a kill and after a power cut.
func everyFault(t *testing.T, before func() *durabletest.Memory, write func(durable.FS) error, check func(when string, found *durabletest.Memory)) {
	t.Helper()
	for _, passes := range []bool{false, true} {
		failed := 0
		for _, moment := range durabletest.Moments {
			for at := 1; ; at++ {
				m := before()
				err := write(durabletest.NewFaulty(m, durabletest.Fault{At: at, Moment: moment, Err: syscall.ENOSPC, Passes: passes}))
				if err == nil {
					break
				}
				failed++
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("%s operation %d: %v", moment, at, err)
				}
				when := fmt.Sprintf("%s operation %d, passes=%v", moment, at, passes)
				check(when+", killed", m.Killed())
				check(when+", power cut", m.PowerCut())
			}
		}
		if failed < 12 {
			t.Errorf("only %d faults were seen", failed)
		}
	}
}

func TestWriteFileIsWholeOrAbsent(t *testing.T) {
	before := func() *durabletest.Memory {
		m := durabletest.NewMemory()
		m.Put("out/a", []byte("old"))
		return m
	}
	write := func(fsys durable.FS) error { return durable.WriteFile(fsys, "out/a", []byte("new content")) }
	everyFault(t, before, write, func(when string, found *durabletest.Memory) {
		if got := string(found.Content("out/a")); got != "old" && got != "new content" {
			t.Errorf("%s: %q", when, got)
		}
		if err := durable.Sweep(found, "out"); err != nil || found.Unpublished() != nil {
			t.Errorf("%s: swept, %q is left, %v", when, found.Unpublished(), err)
		}
		if err := write(found); err != nil || string(found.PowerCut().Content("out/a")) != "new content" {
			t.Errorf("%s: written again, after a power cut: %q, %v", when, found.PowerCut().Content("out/a"), err)
		}
	})
}

func TestCommitAllShowsTheLastLast(t *testing.T) {
	names := []string{"out/a", "out/b", "out/last"}
	before := func() *durabletest.Memory {
		m := durabletest.NewMemory()
		m.Put("out/other", nil)
		return m
	}
	write := func(fsys durable.FS) error {
		var files []*durable.Pending
		for _, name := range names {
			p, err := durable.Stage(fsys, name, []byte(name))
			if err != nil {
				return err
			}
			files = append(files, p)
		}
		return durable.CommitAll(files...)
	}
	everyFault(t, before, write, func(when string, found *durabletest.Memory) {
		last := found.Content("out/last") != nil
		for _, name := range names {
			content := found.Content(name)
			if content != nil && string(content) != name || content == nil && last {
				t.Errorf("%s: %s has %q, the last one stands: %v", when, name, content, last)
			}
		}
	})
	m := before()
	fatal.If(t, write(m))
	if seen := m.PowerCut().Visible(); len(seen) != 4 {
		t.Errorf("after a power cut: %q", seen)
	}
	if err := durable.CommitAll(); err != nil {
		t.Errorf("no file: %v", err)
	}
}

// A failure that passes leaves nothing, and an abandoned file is not published.
func TestCommitAllGivesAllUp(t *testing.T) {
	m := durabletest.NewMemory()
	m.Put("out/other", nil)
	refuses := durabletest.Hooked{FS: m, Hook: func(op durabletest.Operation, effect func() error) error {
		if op.Kind == durabletest.Rename && op.Name == "out/b" {
			return syscall.EIO
		}
		return effect()
	}}
	var files []*durable.Pending
	for _, name := range []string{"out/a", "out/b", "out/c"} {
		p, err := durable.Stage(refuses, name, nil)
		fatal.If(t, err)
		files = append(files, p)
	}
	if err := durable.CommitAll(files...); !errors.Is(err, syscall.EIO) {
		t.Errorf("CommitAll says %v, want EIO", err)
	}
	if names, err := m.List("out"); err != nil || len(names) != 1 {
		t.Errorf("it leaves %q, %v", names, err)
	}
	for _, p := range files {
		if err := p.Commit(); err == nil {
			t.Error("an abandoned file is published")
		}
	}
}
