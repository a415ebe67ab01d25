package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A scheduler that is killed before, after or within any operation, or at any moment, and
// started again comes to one finished run with one number, and the pointer never names
// what is not there.
func TestScheduleKilledThenRunAgain(t *testing.T) {
	t.Parallel()
	repeats(t)
	rng := rand.New(rand.NewPCG(5, 3))
	try := func(when string, o order, after time.Duration) (survived bool) {
		dir := t.TempDir()
		smallLake(t, dir)
		path := writeSchedule(t, dir, tiny(jobFile{"checkpoint": "1ms"}).write(t, dir), "triggers: [{files: 1}]")
		out := filepath.Join(dir, "out")
		o.Args = []string{"schedule", "-c", path, "--once"}
		c := child(t, o)
		fatal.If(t, c.Start())
		if after > 0 {
			time.AfterFunc(after, func() { _ = c.Process.Kill() })
		}
		err := c.Wait()
		if survived = err == nil; !survived && !killed(err) {
			t.Fatalf("%s: %v", when, err)
		}
		if p := current(t, out); p != nil {
			pointsToWhole(t, when, out)
		}
		succeed(t, "schedule", "-c", path, "--once")
		pointsToWhole(t, when+", run again", out)
		var all []listedRun
		fatal.If(t, json.Unmarshal([]byte(succeed(t, "schedule", "-c", path, "--runs").stdout), &all))
		finished := 0
		for _, r := range all {
			if r.State == pipeline.StateFinished {
				finished++
			}
			if r.Sequence != 1 || r.State == pipeline.StateRunning {
				t.Errorf("%s: %+v", when, r)
			}
		}
		if found, err := filepath.Glob(filepath.Join(out, "certificate-*.json")); finished != 1 || len(found) != 1 || err != nil {
			t.Errorf("%s: %d finished runs, %d certificates", when, finished, len(found))
		}
		return survived
	}
	for _, how := range []string{howBefore, howAfter, howHalf} {
		for at := 1; ; at++ {
			if !*soak { // some, by a seed
				at += rng.IntN(40)
			}
			if try(fmt.Sprintf("operation %d, %s", at, how), order{At: at, How: how}, 0) {
				break
			}
		}
	}
	moments := 3
	if *soak {
		moments = 100
	}
	for range moments {
		after := time.Duration(math.Ceil(rng.Float64() * float64(400*time.Millisecond)))
		try(fmt.Sprintf("after %v", after), order{}, after)
	}
}

// writtenBy dates files that are younger to a moment.
func writtenBy(t *testing.T, lake string, moment time.Time) {
	t.Helper()
	fatal.If(t, filepath.WalkDir(lake, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		if info, err := e.Info(); err != nil || !info.ModTime().After(moment) {
			return err
		}
		return os.Chtimes(path, moment, moment)
	}))
}
