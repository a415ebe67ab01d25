package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// watchedBy are the arguments of a watch of the first model of a folder by its files in new/.
func watchedBy(t *testing.T, dir string, document []byte) []string {
	t.Helper()
	p := pointed(t, document)
	return []string{"watch", filepath.Join(dir, "out", p.Model), filepath.Join(dir, "out", p.Certificate), filepath.Join(dir, "new"), "--state", filepath.Join(dir, "watch"), "--json"}
}

// seen is the document of a watch.
func seen(t *testing.T, status int, args ...string) (d watchedDocument) {
	t.Helper()
	a := pacsgp(t, args...)
	if a.status != status {
		t.Fatalf("%q: status %d: %s", args, a.status, a.message)
	}
	fatal.If(t, json.Unmarshal([]byte(a.stdout), &d))
	return d
}

// Each labelled row of a new file counts once: not again, not in a copy, and not if it is of the
// sample, in whatever file.
func TestWatchCountsNewRows(t *testing.T) {
	dir, pointers, _ := following(t, 2, 40)
	args := watchedBy(t, dir, pointers[0])
	first := seen(t, 0, args...)
	if first.Rows != 80 || first.Unlabelled+first.Bad+first.Known != 0 || !(first.Loss < first.Bound) || !strings.Contains(first.Statement, "of 80 new rows") {
		t.Errorf("%+v", first)
	}
	if diff := cmp.Diff(first, seen(t, 0, args...)); diff != "" {
		t.Errorf("seen again:\n%s", diff)
	}
	// The same rows under another name, and rows of the sample in one file, compressed again.
	writeFile(t, filepath.Join(dir, "new", "copy.parquet"), readFile(t, filepath.Join(dir, "new", "part-00.parquet")))
	fatal.If(t, smallRows(t).WriteLake(t.Context(), filepath.Join(dir, "new", "sample"), 1, 0, 180))
	later := seen(t, 0, args...)
	if later.Rows != 80 || later.Known != 40+180 || later.Evidence != first.Evidence {
		t.Errorf("%+v", later)
	}
	// Rows without a label, and bad ones.
	y, x1, x2 := make([]any, 30), make([]any, 30), make([]float64, 30)
	for i := range 30 {
		y[i], x1[i], x2[i] = 1e9, float64(i)/30, 0.5
	}
	y[3], x1[4], x1[5], y[5] = nil, nil, nil, nil
	table{"x1": x1, "x2": x2, "y": y}.write(t, filepath.Join(dir, "new", "odd.parquet"))
	last := seen(t, exitNotCertified, args...)
	if last.Rows != 80+27 || last.Unlabelled != 1 || last.Bad != 2 || !strings.Contains(last.Alarm, ", in "+filepath.Join(dir, "new", "odd.parquet")) || last.Evidence < 100 {
		t.Errorf("%+v", last)
	}
	// Neither another run nor a file that cannot be read hides the alarm.
	writeFile(t, filepath.Join(dir, "new", "half.parquet"), []byte("PAR1"))
	if again := seen(t, exitNotCertified, args...); again.Rows != last.Rows || again.Alarm != last.Alarm {
		t.Errorf("the alarm is forgotten: %+v", again)
	}
	holds(t, pacsgp(t, args...).message, "alarm: ", "holds back a larger bound", "stop the watch, remove watch.json from the folder state, and start it again", "1 file could not be counted")
	pacsgp(t, append(args, "--alarm", "0.2")...).says(t, exitFailure, "cannot go on with 0.2")
	path := filepath.Join(dir, "watch", "watch.json")
	text, _, _ := bytes.Cut(readFile(t, path), []byte(`,"sha256"`))
	writeFile(t, path, append(bytes.Replace(text, []byte(`"alarm":{"bound":0.3`), []byte(`"alarm":{"bound":0.9`), 1), '}'))
	pacsgp(t, args...).says(t, exitFailure, "began with a bound of 0.9")
	// The hint is followed: the delivery is mended, and its rows are tested again.
	fatal.If(t, errors.Join(os.Remove(filepath.Join(dir, "new", "half.parquet")), os.Remove(filepath.Join(dir, "new", "odd.parquet"))))
	if mended := seen(t, 0, append(args, "--state", filepath.Join(dir, "again"))...); mended.Rows != 80 || mended.Alarm != "" {
		t.Errorf("mended: %+v", mended)
	}
}

// Started again, a watch shows the alarm at once, without a further row, until another model is current, also
// while it runs.
func TestWatchStartsWithItsAlarm(t *testing.T) {
	dir, pointers, _ := following(t, 2, 40)
	point(t, dir, pointers[0])
	path := filepath.Join(dir, "watch.yaml")
	writeFile(t, path, []byte("model: out\nsource: {paths: [new]}\nstate: watch\npoll: 10ms\nserve: {listen: '127.0.0.1:0'}\n"))
	wrong := slices.Repeat([]float64{.5}, 40)
	table{"x1": wrong, "x2": wrong, "y": slices.Repeat([]float64{1e9}, 40)}.write(t, filepath.Join(dir, "new", "wrong.parquet"))
	for range 2 { // also without a new row
		seen(t, exitNotCertified, "watch", "-c", path, "--json")
	}
	for i, want := range []float64{1, 1, 0} { // first while it is unknown which model is current
		if i == 0 {
			writeFile(t, filepath.Join(dir, "out", "current.json"), []byte("{"))
			r := startCommand(t, "watch", "-c", path, "--follow")
			if got := scrape(t, r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`))["pacsgp_watch_alarm"]; got != want {
				t.Errorf("without a model: the alarm is %v, want %v: %s", got, want, r.says())
			}
			r.end(t)
			continue
		}
		point(t, dir, pointers[i-1])
		r := startCommand(t, "watch", "-c", path, "--follow")
		at := r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
		r.find(t, "(new rows test certificate)")
		if !within(time.Minute, func() bool {
			return scrape(t, at)["pacsgp_watch_alarm"] == want && (want == 0 || strings.Contains(r.says(), "ALARM, certificate"))
		}) {
			t.Errorf("model %d: the alarm is not %v: %s", i, want, r.says())
		}
		if shown := scrape(t, at); (shown["pacsgp_watch_loss"] > 0) != (want > 0) || (shown["pacsgp_watch_bound"] < 1) != (want > 0) {
			t.Errorf("model %d: %v", i, shown)
		}
		point(t, dir, pointers[1])
		r.find(t, "(new rows test certificate "+pointed(t, pointers[1]).ID[:12]+")")
		if !within(time.Minute, func() bool {
			shown := scrape(t, at)
			return shown["pacsgp_watch_alarm"]+shown["pacsgp_watch_loss"] == 0 && shown["pacsgp_watch_alarms_total"] == want
		}) {
			t.Errorf("after model %d another one is current, and the alarm stays: %s", i, r.says())
		}
		r.end(t)
	}
}

// Rows of a day are one example, whatever the type of its column, and of a path. Late rows are reported.
func TestWatchByUnits(t *testing.T) {
	dir, pointers, _ := following(t, 1, 40)
	point(t, dir, pointers[0])
	fatal.If(t, os.RemoveAll(filepath.Join(dir, "new")))
	path := filepath.Join(dir, "watch.yaml")
	const watched = "model: out\nsource: {paths: [new]}\nstate: watch\nunit: {column: [month, day]}\n"
	days := func(name string, day any, y ...float64) {
		x := slices.Repeat([]float64{.5 + float64(len(name))/100}, len(y))
		table{"x1": x, "x2": x, "y": y, "day": day}.write(t, filepath.Join(dir, "new", "month=5", name+".parquet"))
	}
	days("a", []int64{20110203, 20110203, 20110204, 20110203}, 1e9, 1e9, 1e9, 1e9)
	days("bb", []float64{20110203, math.NaN(), 20110204}, 1e9, 1e9, 1e9)
	days("ccc", []string{"20110204", "20110205"}, 1e9, 1e9)
	days("dddd", []int64{20110206, 20110203, 20110206}, 1e9, 1e9, math.NaN())
	args := []string{"watch", "-c", path, "--json"}
	writeFile(t, path, []byte(watched+"delay: 1h\n"))
	if d := seen(t, 0, args...); d.Rows != 0 || d.Bad != 0 {
		t.Errorf("nothing is due yet: %+v", d)
	}
	writeFile(t, path, []byte(watched))
	d := seen(t, 0, args...)
	if d.Loss != 1 || d.Units != 3 || d.Rows != 4+3+1 || d.Open != 1 || d.Late != 1 || d.Bad != 1 || d.Unlabelled != 1 || !strings.Contains(d.Statement, "over 3 new units, were missed") {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff(d, seen(t, 0, args...)); diff != "" {
		t.Errorf("seen again:\n%s", diff)
	}
	x := []float64{.1, .2}
	table{"x1": x, "x2": x, "y": x}.write(t, filepath.Join(dir, "new", "month=5", "e.parquet"))
	pacsgp(t, args...).logs(t, exitFailure, "e.parquet has no column")
}

// Wherever a watch is killed, the next one ends with the same state.
func TestWatchKilled(t *testing.T) {
	dir, pointers, _ := following(t, 3, 40)
	args := watchedBy(t, dir, pointers[0])
	want := seen(t, 0, args...)
	state := readFile(t, filepath.Join(dir, "watch", "watch.json"))
	for _, how := range []string{howBefore, howHalf, howAfter} {
		for at := 1; ; at += 2 {
			fatal.If(t, os.RemoveAll(filepath.Join(dir, "watch")))
			survived, when := dies(t, order{Args: args, At: at, How: how})
			if survived {
				break
			}
			if diff := cmp.Diff(want, seen(t, 0, args...)); diff != "" {
				t.Errorf("%s:\n%s", when, diff)
			}
			if got := readFile(t, filepath.Join(dir, "watch", "watch.json")); string(got) != string(state) {
				t.Errorf("%s: %s, want %s", when, got, state)
			}
			if testing.Short() {
				at += 4
			}
		}
	}
}
