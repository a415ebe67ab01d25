package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// scripted makes this test binary be the command pacsgp of scripts; its demo is small.
func scripted(m testscript.TestingM) {
	testscript.Main(m, map[string]func(){"pacsgp": func() {
		theDemo = demoSize{rows: 900, fresh: 300, files: 2, inducing: 16}
		main()
	}})
}

// tests is a run of tests that scripts can be part of.
type tests func() int

// Run runs them.
func (t tests) Run() int { return t() }

// The scripts in testdata/script; each begins in a folder of its own, with 180 rows in three Parquet
// files in lake, and a job.yaml of a fraction of a second, unless it has its own. $EXAMPLES is examples/.
//
//	status N command …   the command ends with this exit status
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("EXAMPLES", filepath.Join(verifytest.Root(t), "examples"))
			if _, err := os.Stat(filepath.Join(e.WorkDir, "job.yaml")); errors.Is(err, os.ErrNotExist) {
				tiny(nil).write(t, e.WorkDir)
			}
			return smallRows(t).WriteLake(t.Context(), filepath.Join(e.WorkDir, "lake"), 3, 0, 180)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus},
	})
}

func wantStatus(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) < 2 {
		ts.Fatalf("usage: status N command …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		if got := ended.ExitCode(); got != want {
			ts.Fatalf("%v: exit status %d, want %d", args[1:], got, want)
		}
	} else if ts.Check(err); want != 0 {
		ts.Fatalf("%v: exit status 0, want %d", args[1:], want)
	}
}
