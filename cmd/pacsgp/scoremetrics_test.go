package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Every documented metric of score is there and moves: rows wait while there is no model, and
// no more when there is one.
func TestDocumentedMetricsOfScoreMove(t *testing.T) {
	t.Parallel()
	s := topicOf(t, seededTopics(t), 60, "serve: {listen: '127.0.0.1:0'}\n")
	s.send(t)
	fatal.If(t, (durable.OS{}).Remove(filepath.Join(s.dir, "out", sinklake.CurrentFile)))
	r := startCommand(t, "score", "-c", s.score)
	at := r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
	until := func(what string, is func(found map[string]float64) bool) (found map[string]float64) {
		t.Helper()
		for range 1500 {
			if found = scrape(t, at); is(found) {
				return found
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("%s: %v", what, found)
		return nil
	}
	until("rows that wait", func(found map[string]float64) bool {
		return found["pacsgp_group_lag_offsets"] == 60 && found["pacsgp_member_partitions"] == 2
	})
	point(t, s.dir, s.pointers[0])
	found := until("no row that waits", func(found map[string]float64) bool {
		return found["pacsgp_group_lag_offsets"] == 0 && found["pacsgp_predictions_total"] == 60
	})
	names := documentedMetrics(t, "`pacsgp score` has these:", "`pacsgp schedule`")
	if len(names) < 5 {
		t.Fatalf("the table has %q", names)
	}
	for _, name := range names {
		if name == "pacsgp_prediction_failed_files" { // not of a topic
			continue
		}
		if value, ok := found[name]; !ok || value == 0 && name != "pacsgp_group_lag_offsets" && name != "pacsgp_group_poll_errors_total" {
			t.Errorf("%s is %v", name, value)
		}
		delete(found, name)
	}
	for name := range found {
		if strings.HasPrefix(name, "pacsgp_") && name != "pacsgp_build_info" {
			t.Errorf("%s is not documented", name)
		}
	}
	r.end(t)
}
