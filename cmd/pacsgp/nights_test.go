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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Thirty nights of a lake in which things go wrong, each with what is to come of it as
// worked out by hand. A run takes the last seven days; a failed night's file is mended
// before the next.
func TestThirtyNights(t *testing.T) {
	t.Parallel()
	repeats(t)
	dir := t.TempDir()
	day := func(d int) string { return fmt.Sprintf("day=%s", someDay.AddDate(0, 0, d-1).Format(time.DateOnly)) } // day 1 is someDay
	path := func(d int, name string) string { return filepath.Join(dir, "lake", day(d), name) }
	rowsOf := func(d int) table {
		columns := smallRows(t).Rows(int64(60*(d+10)), 60)
		return table{"x1": columns[0], "x2": columns[1], "y": columns[2]}
	}
	for d := -6; d <= 0; d++ {
		rowsOf(d).write(t, path(d, "part-00.parquet"))
	}
	job := tiny(jobFile{"guarantees": "pac-bayes", "features": "[x1, x2]", "limit": "0.25", "keep": "100"}).write(t, dir)
	s := onStage(t, writeSchedule(t, dir, job, `triggers: [{cron: "30 2 * * *", zone: UTC}]`, "files: {last: 7d, key: day}"))
	out := filepath.Join(dir, "out")
	s.at(t, someDay) // the first look

	failed := map[int]int{10: exitFailure, 13: exitFailure, 16: exitFailure} // the last: a feature is text in one file
	says := map[int]string{10: "equal an earlier", 13: "null", 16: "is text"}
	files := func(night int) int { // the seven days before
		n := 7
		if night >= 5 && night <= 11 { // day 4 has none
			n--
		}
		if night >= 8 && night <= 10 { // a late file of day 3
			n++
		}
		if night == 22 { // and one of day 15
			n++
		}
		return n
	}
	last, counted := "", int64(0)
	certificates := map[int]string{}
	for night := 1; night <= 30; night++ {
		yesterday := night - 1
		rows := rowsOf(yesterday)
		switch night {
		case 1: // was there
		case 5: // an empty night
		case 8:
			rowsOf(50).write(t, path(3, "part-01.parquet"))
			rows.write(t, path(yesterday, "part-00.parquet"))
		case 10: // the file of the day before once more
			rowsOf(8).write(t, path(yesterday, "part-00.parquet"))
		case 13:
			x2 := make([]any, 60)
			for i, v := range rows["x2"].([]float64) {
				x2[i] = v
			}
			x2[7] = nil
			rows.with("x2", x2).write(t, path(yesterday, "part-00.parquet"))
		case 16:
			text := make([]string, 60)
			for i, v := range rows["x1"].([]float64) {
				text[i] = strconv.FormatFloat(v, 'g', -1, 64)
			}
			rows.with("x1", text).write(t, path(yesterday, "part-00.parquet"))
		case 19:
			rows.with("x3", rows["x1"]).write(t, path(yesterday, "part-00.parquet"))
		case 22: // late, and of another source
			noise := rand.New(rand.NewPCG(1, 2))
			x1, x2, y := make([]float64, 400), make([]float64, 400), make([]float64, 400)
			for i := range y {
				x1[i], x2[i], y[i] = noise.NormFloat64(), noise.NormFloat64(), 3*noise.NormFloat64()
			}
			table{"x1": x1, "x2": x2, "y": y}.write(t, path(15, "part-01.parquet"))
			rows.write(t, path(yesterday, "part-00.parquet"))
		default:
			rows.write(t, path(yesterday, "part-00.parquet"))
		}
		moment := someDay.AddDate(0, 0, night-1).Add(2*time.Hour + 30*time.Minute)
		writtenBy(t, filepath.Join(dir, "lake"), moment)
		run := s.at(t, moment.Add(time.Second))
		if run == nil {
			t.Fatalf("night %d: no run", night)
		}
		if len(run.Scheduled.Files) != files(night) || run.Scheduled.Sequence != int64(night) || run.Scheduled.Missed != 0 {
			t.Fatalf("night %d: %d files, want %d; %s", night, len(run.Scheduled.Files), files(night), schedule.Words(run))
		}
		if exit, bad := failed[night]; bad {
			if run.State != pipeline.StateFailed || *run.Exit != exit || schedule.Certificate(run) != "" || !strings.Contains(run.Fault, says[night]) {
				t.Fatalf("night %d: status %d, %s", night, *run.Exit, schedule.Words(run))
			}
			rows.write(t, path(yesterday, "part-00.parquet"))
		} else {
			counted++
			exit := 0
			if night == 22 {
				exit = exitNotCertified
			}
			if run.State != pipeline.StateFinished || *run.Exit != exit {
				t.Fatalf("night %d: %s", night, schedule.Words(run))
			}
			certificates[night] = schedule.Certificate(run)
			if exit == 0 {
				last = schedule.Certificate(run)
			}
			c := contenderAt(t, out, certificates[night])
			if a := c.Declared.Attempt; a.OnTheseRows != 1 || a.InThisLog != counted {
				t.Errorf("night %d: attempt %+v, want 1 and %d", night, a, counted)
			}
			if share, want := c.Delta.Share(certify.MethodPACBayes).String(), fmt.Sprintf("1/%d", night*(night+1)); share != want {
				t.Errorf("night %d has spent %s of delta, want %s", night, share, want)
			}
			if rows := c.Sample.Rows; rows != int64(60*files(night)+map[bool]int{true: 340}[night == 22]) {
				t.Errorf("night %d: %d rows", night, rows)
			}
		}
		if p := current(t, out); p == nil || p.ID != last {
			t.Fatalf("night %d: current is %+v, want %s", night, p, last)
		}
	}

	// On the last day every night's certificate verifies, over the lake as it is now.
	nights, stride := 0, 1
	if testing.Short() {
		stride = 5
	}
	for night := 1; night <= 30; night++ {
		id, ok := certificates[night]
		if !ok || night%stride != 0 && night != 22 {
			continue
		}
		c := contenderAt(t, out, id)
		want := 0
		if pipeline.JudgeDraw.Of(c).Status != certify.StatusCertified {
			want = exitNotCertified
		}
		a := pacsgp(t, "verify", filepath.Join(out, sinklake.ModelName(c.Model.Digest)), filepath.Join(out, "certificate-"+id+".json"), filepath.Join(dir, "lake"), "--judge", "draw")
		if a.status != want {
			t.Errorf("night %d: status %d, %s", night, a.status, a.message)
		}
		nights++
	}
	if nights == 0 {
		t.Error("nothing was verified")
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
