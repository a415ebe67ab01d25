package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A night fails by copies, and its hint is followed: the changed job is refused without a word
// about the other one, and amended it runs under the next number, on the same files, and pays for
// what the nights before have shown.
func TestScheduleAmend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	smallLake(t, dir)
	nightly := jobFile{"features": "[x1, x2]", "guarantees": "[pac-bayes, holdout]", "roles": "{holdout: 30 %}"}
	write := func(name string, change jobFile) {
		t.Helper()
		nightly["copies"], nightly["output"] = "", name
		maps.Copy(nightly, change)
		writeFile(t, filepath.Join(dir, name+".yaml"), readFile(t, tiny(nightly).write(t, dir)))
	}
	write("waves", nil)
	write("tides", jobFile{"copies": "independent"})
	path := filepath.Join(dir, "schedule.yaml")
	text := "record: schedule.db\njobs:\n"
	for _, name := range []string{"waves", "tides"} {
		text += fmt.Sprintf("  - {name: %s, job: %s.yaml, triggers: [{files: 1}]}\n", name, name)
	}
	writeFile(t, path, []byte(text))
	state := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state")}
	call := func(args ...string) answer { return pacsgpOn(t, plain(), state, append(args, "-c", path)...) }
	last := func(name string) *pipeline.RunState { return lastRun(t, filepath.Join(dir, name)) }
	if a := call("schedule", "--once"); a.status != 0 {
		t.Fatal(a.message)
	}
	addFile(t, dir, "again", 0, 60)
	call("schedule", "--once").says(t, exitFailure, "set copies: drop", "take the change on: pacsgp schedule amend waves")

	write("waves", jobFile{"copies": "drop"})
	call("schedule", "--once").says(t, exitConfig, "pacsgp schedule amend waves")
	addFile(t, dir, "more", 300, 60)
	call("schedule", "--once").says(t, exitConfig, "pacsgp schedule amend waves")
	if a, b := last("waves"), last("tides"); *a.Exit != exitConfig || b.Scheduled.Sequence != 3 || *b.Exit != 0 {
		t.Errorf("without an amendment: %s; %s", schedule.Words(a), schedule.Words(b))
	}
	sequences := filepath.Join(dir, "waves", sinklake.SequencesFile)
	killedAmendments(t, path, sequences)
	call("schedule", "amend", "waves").says(t, 0, "from number 3 on")
	call("schedule", "amend", "waves").says(t, 0, "nothing was changed")
	if a := call("schedule", "run", "waves"); a.status != 0 {
		t.Fatal(a.message)
	}
	out := filepath.Join(dir, "waves")
	r := last("waves")
	c := contenderAt(t, out, schedule.Certificate(r))
	// Two looks of the other job count too, whose first one has the same model; then the second night, which failed, and the change.
	if paid := c.Delta.Looks; r.Scheduled.Sequence != 3 || c.Delta.Sequence.Amended != 3 || paid == nil || len(paid.Earlier) != 5 || !slices.Equal(paid.Earlier[3:], []int64{8, 1}) {
		t.Errorf("%s: %+v, looks %+v", schedule.Words(r), c.Delta.Sequence, paid)
	}
	verify := pacsgp(t, "verify", filepath.Join(out, sinklake.ModelName(c.Model.Digest)), filepath.Join(out, "certificate-"+schedule.Certificate(r)+".json"), filepath.Join(dir, "lake"), "--judge", "draw")
	verify.says(t, 0, "The job of its sequence was changed with number 3.", "this job from number 3 on")

	// A list of numbers that hides the amendment is refused; without the log of looks they are not counted.
	kept := readFile(t, sequences)
	var all map[string]any
	fatal.If(t, json.Unmarshal(kept, &all))
	delete(all["sequences"].(map[string]any)["waves"].(map[string]any), "former")
	forged, err := json.Marshal(all)
	fatal.If(t, err)
	writeFile(t, sequences, forged)
	addFile(t, dir, "later", 400, 60)
	call("schedule", "run", "waves").says(t, exitFailure, "was of another job than its list of numbers says")
	writeFile(t, sequences, kept)
	fatal.If(t, os.RemoveAll(state["XDG_STATE_HOME"]))
	if a := call("schedule", "run", "waves"); a.status != 0 {
		t.Fatal(a.message)
	}
	if c := contenderAt(t, out, schedule.Certificate(last("waves"))); c.Delta.Looks == nil || !c.Delta.Looks.Uncounted {
		t.Errorf("the log is gone, and looks are %+v", c.Delta.Looks)
	}
}

// killedAmendments kills amendments at moments of their work: each is whole or was none.
func killedAmendments(t *testing.T, path, sequences string) {
	t.Helper()
	before := readFile(t, sequences)
	for _, how := range []string{howBefore, howAfter, howHalf} {
		for at := 1; ; at++ {
			if !*soak {
				at += 3
			}
			c := child(t, order{Args: []string{"schedule", "amend", "waves", "-c", path}, At: at, How: how})
			err := c.Run()
			if err != nil && !killed(err) {
				t.Fatalf("operation %d, %s: %v", at, how, err)
			}
			want := "from number 3 on"
			if !bytes.Equal(readFile(t, sequences), before) {
				want = "nothing was changed"
			}
			if a := succeed(t, "schedule", "amend", "waves", "-c", path); !strings.Contains(a.stdout, want) {
				t.Errorf("operation %d, %s: then %q, want %q", at, how, a.stdout, want)
			}
			writeFile(t, sequences, before)
			if err == nil {
				break
			}
		}
	}
}
