package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A service shows what is current, and its metrics.
func TestConsoleOfServices(t *testing.T) {
	t.Parallel()
	dir, _, score := following(t, 2, 40)
	writeFile(t, score, append(readFile(t, score), "serve: {listen: '127.0.0.1:0'}\n"...))
	schedule := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 1h}]", "files: new")
	writeFile(t, schedule, append(readFile(t, schedule), "serve: {listen: '127.0.0.1:0'}\n"...))
	for command, want := range map[string]struct {
		file, metric string
	}{
		"score":    {score, "pacsgp_predictions_total"},
		"schedule": {schedule, "pacsgp_training_bound_estimate"},
	} {
		r := startCommand(t, command, "-c", want.file)
		at := "http://" + r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
		if command == "score" {
			r.find(t, "(part-01.parquet: predictions of 40 rows)")
		}
		for path, has := range map[string]string{
			"/metrics": want.metric, "/readyz": "ok", "/": pointed(t, readFile(t, filepath.Join(dir, "out", "current.json"))).ID,
		} {
			answers(t, at+path, http.StatusOK, has) // when the folder has been read
		}
		r.end(t)
	}
	if found := found(t, dir, "scored", "new", "*.parquet"); len(found) != 2 {
		t.Errorf("%q", found)
	}
}

// answers demands that a service comes to answer so.
func answers(t *testing.T, url string, want int, has string) {
	t.Helper()
	status, said := 0, ""
	if !within(time.Minute, func() bool {
		status, said = servingtest.Get(t, url)
		return status == want && strings.Contains(said, has)
	}) {
		t.Errorf("%s is %d, %s; want %d with %q", url, status, said, want, has)
	}
}

// A half-written file is reported by readiness and metrics of these services, which are well
// again when it is gone.
func TestServicesTellUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir, _, score := following(t, 1, 40)
	watch := filepath.Join(dir, "watch.yaml")
	writeFile(t, watch, []byte("model: out\nsource: {paths: [new]}\nstate: seen\n"))
	schedule := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{files: 1}]", "files: new")
	for command, c := range map[string]struct{ file, metric, half, says string }{
		"score":          {score, "pacsgp_prediction_failed_files", filepath.Join(dir, "new", "half.parquet"), "1 file cannot be predicted: "},
		"watch --follow": {watch, "pacsgp_prediction_failed_files", filepath.Join(dir, "new", "half.parquet"), "1 file cannot be counted: "},
		"schedule":       {schedule, "pacsgp_scheduled_failing", filepath.Join(dir, "lake", "half.parquet"), ""},
	} {
		writeFile(t, c.half, []byte("PAR1 and no end"))
		text := strings.ReplaceAll(string(readFile(t, c.file)), "poll: ", "# ")
		writeFile(t, c.file, []byte(text+"serve: {listen: '127.0.0.1:0'}\npoll: 100ms\n"))
		r := startCommand(t, append(strings.Fields(command), "-c", c.file)...)
		at := r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
		ready := "http://" + at + "/readyz"
		answers(t, ready, http.StatusServiceUnavailable, "half.parquet")
		answers(t, ready, http.StatusServiceUnavailable, c.says)
		answers(t, "http://"+at+"/", http.StatusOK, "This service is not ready: ")
		if found := scrape(t, at); found[c.metric] != 1 {
			t.Errorf("%s: %s is %v", command, c.metric, found[c.metric])
		}
		fatal.If(t, os.Remove(c.half))
		answers(t, ready, http.StatusOK, "ok")
		if command == "score" { // which trains no other one meanwhile
			path := filepath.Join(dir, "out", sinklake.ModelName(current(t, filepath.Join(dir, "out")).Model))
			fatal.If(t, os.Rename(path, path+".away"))
			answers(t, ready, http.StatusServiceUnavailable, "is missing")
			fatal.If(t, os.Rename(path+".away", path))
			answers(t, ready, http.StatusOK, "ok")
			fatal.If(t, os.Rename(filepath.Join(dir, "out"), filepath.Join(dir, "away")))
			answers(t, ready, http.StatusServiceUnavailable, "out does not exist")
			if scrape(t, at)["pacsgp_ready"] != 0 {
				t.Error("pacsgp_ready is not 0")
			}
			r.find(t, "(the pointer cannot be read, and the model of certificate)")
			fatal.If(t, os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "out")))
			answers(t, ready, http.StatusOK, "ok")
		}
		r.end(t)
	}
}

// served starts a console and returns its address. It ends with the test, without an error.
func served(t *testing.T, args ...string) string {
	t.Helper()
	r := startCommand(t, append([]string{"console", "--listen", "127.0.0.1:0"}, args...)...)
	t.Cleanup(func() { r.end(t) })
	return r.find(t, "(http://[^/]+/)")
}

// The console shows what train has published, on this machine alone.
func TestConsole(t *testing.T) {
	a := trained(t)
	address := served(t, a.out)
	status, page := servingtest.Get(t, address)
	if status != http.StatusOK || !strings.Contains(page, a.id) {
		t.Errorf("status %d: %s", status, page)
	}
	pacsgp(t, "console").says(t, exitUsage, "name the output directories")
	pacsgp(t, "console", filepath.Join(a.dir, "none")).says(t, exitFailure, "no such file")
	pacsgp(t, "console", a.certificate).says(t, exitFailure, "no directory")
}
