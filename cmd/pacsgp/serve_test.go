package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
)

// A service shows its certificates and what it does, and its metrics beside them.
func TestConsoleOfServices(t *testing.T) {
	t.Parallel()
	dir, pointers, score := following(t, 2, 40)
	writeFile(t, score, append(readFile(t, score), "serve: {listen: '127.0.0.1:0'}\n"...))
	schedule := writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 1h}]", "files: new")
	writeFile(t, schedule, append(readFile(t, schedule), "serve: {listen: '127.0.0.1:0'}\n"...))
	for command, want := range map[string]struct {
		file, live, metric string
	}{
		"score":    {score, ">80<", "pacsgp_predictions_total"},
		"schedule": {schedule, "no run since the scheduler began", "pacsgp_training_bound_estimate"},
	} {
		r := startCommand(t, command, "-c", want.file)
		at := "http://" + r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
		if command == "score" {
			r.find(t, "(part-01.parquet: predictions of 40 rows)")
		}
		for path, has := range map[string]string{
			"/live": want.live, "/metrics": want.metric, "/readyz": "ok",
			"/certificate/" + idOf(t, pointers[0]): "Certificate",
		} {
			said := ""
			for range 200 { // until the folder has been read
				var status int
				if status, said = servingtest.Get(t, http.DefaultClient, at+path); status == http.StatusOK && strings.Contains(said, has) {
					said = ""
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			if said != "" {
				t.Errorf("%s: %q is not on %s: %s", command, has, path, said)
			}
		}
		r.end(t)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "scored", "new", "*.parquet")); err != nil || len(found) != 2 {
		t.Errorf("%q, %v", found, err)
	}
}
