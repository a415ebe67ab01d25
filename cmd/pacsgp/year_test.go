package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/console"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A year of nights, or a few weeks: the source drifts in spring, every twentieth file is a day late, one
// is half a file for a day, and the scheduler is restarted twice a week. Certified bounds hold on
// fresh rows, the watch raises its alarm within a day of the drift and at no other time, the
// state stays small, and the console says what is so.
func TestYear(t *testing.T) {
	t.Parallel()
	repeats(t)
	nights, drift, bad, window := 365, 80, 200, 10
	if testing.Short() {
		nights, drift, bad, window = 14, 4, 13, 6
	}
	const perDay, delta = 60, 0.05
	dir, begin, rng := t.TempDir(), time.Date(2025, 1, 1, 2, 0, 0, 0, time.UTC), rand.New(rand.NewPCG(3, 65))
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	var source [2]*synth.Generator
	for i := range source {
		var err error
		source[i], err = synth.New(synth.Config{Seed: smallSeed + uint64(i), Noise: 0.1, Features: 2})
		fatal.If(t, err)
		fatal.If(t, source[i].WriteLake(t.Context(), in("fresh", fmt.Sprint(i)), 1, 1_000_000, 2000))
	}
	deliver := func(day int) {
		g := source[0]
		if day >= drift {
			g = source[1]
		}
		fatal.If(t, g.WriteLake(t.Context(), in("lake", "day="+begin.AddDate(0, 0, day).Format(time.DateOnly)), 1, int64((day+window)*perDay), perDay))
	}
	for day := -window; day < 0; day++ {
		deliver(day)
	}
	path := writeSchedule(t, dir, tiny(jobFile{"features": "[x1, x2]", "require": "prediction"}).write(t, dir),
		"triggers: [{cron: 0 2 * * *, zone: UTC}]", fmt.Sprintf("files: {last: %dd, key: day}", window))
	writeFile(t, in("watch.yaml"), []byte("{model: out, source: {paths: [lake]}, state: out}"))
	half := in("lake", "day="+begin.AddDate(0, 0, bad-1).Format(time.DateOnly), "half.parquet")
	s, certified, broken, alarms := onStage(t, path), 0, 0, 0
	s.at(t, begin.Add(-time.Hour)) // the trigger counts from then on
	for night := range nights {
		now := begin.AddDate(0, 0, night)
		if night%7 == 2 || night%7 == 5 {
			s = onStage(t, path)
		}
		if night == bad {
			writeFile(t, half, []byte("PAR1"))
		}
		r := s.at(t, now)
		if failed := r == nil || r.State != pipeline.StateFinished; failed != (night == bad) {
			t.Errorf("night %d: %+v", night, r)
		}
		if night == bad {
			fatal.If(t, os.Remove(half))
		}
		now = now.Add(12 * time.Hour)
		if night%20 != 7 { // late: it comes with the next one
			deliver(night)
		}
		if night%20 == 8 {
			deliver(night - 1)
		}
		writtenBy(t, s.lake, now)
		watched := pacsgp(t, "watch", "-c", in("watch.yaml"))
		if alarm := watched.status == exitNotCertified; alarm && (night < drift || night > drift+window+1) || watched.status != 0 && !alarm || night == drift+1 && alarms == 0 && !alarm {
			t.Errorf("night %d: status %d, %s", night, watched.status, watched.message)
		} else if alarm {
			alarms++
		}
		p := current(t, in("out"))
		c, _, err := config.ReadCertificate(t.Context(), in("out", sinklake.CertificateName(p.ID)))
		fatal.If(t, err)
		if at := night - drift; (at < 0 || at > window) && (night%10 == 0 || testing.Short()) && c.About(certify.PredictorMean).Status == certify.StatusCertified {
			certified++
			d := seen(t, 0, "watch", in("out", sinklake.ModelName(p.Model)), in("out", sinklake.CertificateName(p.ID)), in("fresh", fmt.Sprint(min(1, max(0, at)))), "--state", in("tests", fmt.Sprint(night)), "--json")
			if d.Loss > d.Certified {
				broken++
			}
		}
		if rng.IntN(nights) < 10 || night == bad || night == drift+1 {
			w := httptest.NewRecorder()
			console.Handler([]string{in("out")}, nil).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
			for words, want := range map[string]bool{"current since " + p.Since.Format("2006-01-02 15:04"): true, "The last run failed": r != nil && r.State == pipeline.StateFailed, "Alarm: rows that came": watched.status != 0} {
				if strings.Contains(w.Body.String(), words) != want {
					t.Errorf("night %d: the console says %q: %t\n%s", night, words, !want, w.Body)
				}
			}
		}
	}
	size := 0
	for _, name := range []string{"schedule.json", "watch.json", "log.json"} {
		size += len(readFile(t, in("out", name)))
	}
	t.Logf("%d nights: %d certificates tested on fresh rows, %d broken; %d alarms; state of %d bytes", nights, certified, broken, alarms, size)
	if float64(broken) > delta*float64(certified) || certified == 0 || alarms == 0 || size > 2<<20 {
		t.Error("see above")
	}
}

// A scheduler that is killed before, after or within any operation, or at any moment, and
// started again comes to one finished run with one number, and the pointer never names
// what is not there.
func TestScheduleKilledThenRunAgain(t *testing.T) {
	t.Parallel()
	repeats(t)
	rng := rand.New(rand.NewPCG(5, 3))
	try := func(when string, o order, after time.Duration) (survived bool) {
		dir := smallLake(t)
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
		finished := 0
		for line := range strings.Lines(succeed(t, "schedule", "-c", path, "--runs").stdout) {
			var r listedRun
			fatal.If(t, json.Unmarshal([]byte(line), &r))
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
