package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// scoreMetricsPage is what the table of docs/metrics.md lists of score.
func scoreMetricsPage(t *testing.T) (names []string) {
	t.Helper()
	_, page, _ := strings.Cut(string(readFile(t, filepath.Join("..", "..", "docs", "metrics.md"))), "`pacsgp score` has these:")
	page, _, ok := strings.Cut(page, "`pacsgp schedule`")
	if !ok {
		t.Fatal("the page has no table of score")
	}
	for line := range strings.SplitSeq(page, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			for _, name := range regexp.MustCompile("`(pacsgp_[a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
				names = append(names, name[1])
			}
		}
	}
	return names
}

// Every documented metric of score is there and moves: rows wait while there is no model, and
// no more when there is one.
func TestDocumentedMetricsOfScoreMove(t *testing.T) {
	t.Parallel()
	s := topicOf(t, seededTopics(t), 60, "serve: {listen: '127.0.0.1:0'}\n")
	s.send(t)
	if err := (durable.OS{}).Remove(filepath.Join(s.dir, "out", sinklake.CurrentFile)); err != nil {
		t.Fatal(err)
	}
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
	names := scoreMetricsPage(t)
	if len(names) < 5 {
		t.Fatalf("the table has %q", names)
	}
	for _, name := range names {
		if value, ok := found[name]; !ok || value == 0 && name != "pacsgp_group_lag_offsets" {
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
