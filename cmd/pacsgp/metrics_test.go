package main

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
)

// scrape reads the metrics of a service: the sum over all labels by name.
func scrape(t testing.TB, address string) map[string]float64 {
	t.Helper()
	_, text := servingtest.Get(t, "http://"+address+"/metrics")
	all := map[string]float64{}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, ok := strings.Cut(line, " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ = strings.Cut(name, "{")
		if i := strings.LastIndexByte(line, ' '); i > 0 {
			value = line[i+1:]
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[name] += v
	}
	return all
}

// shown is the sum of each counter and gauge over all labels.
func (m *metrics) shown(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := m.registry.Gather()
	fatal.If(t, err)
	sums := map[string]float64{}
	for _, f := range families {
		for _, one := range f.GetMetric() {
			sums[f.GetName()] += one.GetGauge().GetValue() + one.GetCounter().GetValue()
		}
	}
	return sums
}

// documentedMetrics are those in the tables of docs/reference/metrics.md between two texts.
func documentedMetrics(t *testing.T, from, to string) (names []string) {
	t.Helper()
	_, page, begins := strings.Cut(string(readFile(t, filepath.Join("..", "..", "docs", "reference", "metrics.md"))), from)
	page, _, ends := strings.Cut(page, to)
	if !begins || !ends {
		t.Fatalf("the page has no table between %q and %q", from, to)
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

// moved demands that the metrics that were found are documented and those of every process, and that each of the
// documented ones is there and, unless it rests, has moved.
func moved(t *testing.T, found map[string]float64, documented []string, rest ...string) {
	t.Helper()
	if len(documented) < 5 {
		t.Fatalf("the table has %q", documented)
	}
	histogram := regexp.MustCompile("_(bucket|sum|count)$")
	for _, name := range documented {
		value, ok := found[name]
		if count, of := found[name+"_count"]; of {
			value, ok = count, true
		}
		if !ok || !(value > 0) && !slices.Contains(rest, name) {
			t.Errorf("%s is %v", name, value)
		}
	}
	for name := range found {
		if strings.HasPrefix(name, "pacsgp_") && name != "pacsgp_build_info" && name != "pacsgp_ready" && !slices.Contains(documented, name) && !slices.Contains(documented, histogram.ReplaceAllString(name, "")) {
			t.Errorf("%s is not documented", name)
		}
	}
}

// Every metric that is documented exists, every one that exists is documented, and each
// moves with what it speaks of.
func TestDocumentedMetricsMove(t *testing.T) {
	t.Parallel()
	c := smallTopic(t) // a window and a half
	address := c.ListenAddrs()[0]
	job := serviceJob(t, address, t.TempDir(), jobFile{"serve": "{listen: 127.0.0.1:0}"})
	r := startService(t, job)
	at := r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
	found := map[string]float64{} // the most of each: a spool goes when its window is published
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		for name, value := range scrape(t, at) {
			found[name] = max(found[name], value)
		}
		if found["pacsgp_certificate_bound"] > 0 && found["pacsgp_certificate_timestamp_seconds"] > 0 && found["pacsgp_rows_total"] >= 120 && found["pacsgp_group_lag_offsets"] > 0 && found["pacsgp_spool_bytes"] > 0 && found["pacsgp_certificate_latency_seconds_count"] > 0 {
			break
		}
	}
	documented := documentedMetrics(t, "", "`pacsgp score` has") // behind are those of other services
	if len(documented) < 15 {
		t.Fatalf("the table has %d metrics", len(documented))
	}
	moved(t, found, documented, "pacsgp_publish_errors_total", "pacsgp_group_poll_errors_total") // nothing has failed
	if rows := found["pacsgp_rows_total"]; rows != 120 {
		t.Errorf("%v rows are counted, want those of a window", rows)
	}
	r.end(t)
}

// TestSpooledRowsAreCountedOnce: what several goroutines report of one window, in any order, is
// counted once, and what an earlier process has spooled is not.
func TestSpooledRowsAreCountedOnce(t *testing.T) {
	m := newMetrics(func() int64 { return 0 }, 1)
	for _, window := range [][]int64{{0, 1024, 3072, 2048, 3072, 3100}, {500, 500, 900, 700, 1000}} {
		report := m.Fills(window[0])
		for _, rows := range window[1:] {
			report(rows)
		}
	}
	if rows := m.shown(t)["pacsgp_spooled_rows_total"]; rows != 3100+500 {
		t.Errorf("%v, want 3600 rows", rows)
	}
}

// TestBrokersAway: a member of a group says within half a minute that its brokers are away: it is
// not ready, and old lags and partitions are shown no longer. It still lives, and shows both again
// when brokers answer.
func TestBrokersAway(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, c *kfake.Cluster) *runningService{
		"stream": func(t *testing.T, c *kfake.Cluster) *runningService {
			job := serviceJob(t, c.ListenAddrs()[0], t.TempDir(), jobFile{"serve": "{listen: 127.0.0.1:0}"})
			return startService(t, job)
		},
		"score": func(t *testing.T, c *kfake.Cluster) *runningService {
			s := topicOf(t, c.ListenAddrs()[0], 60, "serve: {listen: '127.0.0.1:0'}\n")
			return startCommand(t, "score", "-c", s.score)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := smallTopic(t)
			r := start(t, c)
			at := r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
			shown := func() (ready int, why string, lag, partitions, failed bool) {
				ready, why = servingtest.Get(t, "http://"+at+"/readyz")
				found := scrape(t, at)
				_, lag = found["pacsgp_group_lag_offsets"]
				_, partitions = found["pacsgp_member_partitions"]
				return ready, why, lag, partitions, found["pacsgp_group_poll_errors_total"] > 0
			}
			await := func(what string, is func() bool) {
				t.Helper()
				if !within(30*time.Second, is) {
					t.Fatalf("%s: %s", what, r.says())
				}
			}
			await("it works", func() bool {
				ready, _, lag, partitions, failed := shown()
				return ready == http.StatusOK && lag && partitions && !failed
			})
			c.Close()
			await("brokers are away", func() bool {
				ready, why, lag, partitions, failed := shown()
				return ready == http.StatusServiceUnavailable && strings.Contains(why, "the brokers do not answer: ") && !lag && !partitions && failed
			})
			if alive, _ := servingtest.Get(t, "http://"+at+"/livez"); alive != http.StatusOK {
				t.Errorf("/livez answers %d", alive)
			}
			r.end(t)
		})
	}
}

// What was withdrawn comes back with an answer, and a partition that is new counts for the member that
// has them all.
func TestGroupMetricsComeBack(t *testing.T) {
	t.Parallel()
	m := newMetrics(func() int64 { return 0 }, 1)
	m.group.membership(true, 1)
	m.group.behind(nil, io.ErrUnexpectedEOF)
	if err := m.group.ready(); err == nil {
		t.Error("it is ready without an answer")
	}
	m.group.behind(map[int]int64{0: 2, 1: 5}, nil)
	fatal.If(t, m.group.ready())
	if shown := m.shown(t); shown["pacsgp_group_lag_offsets"] != 7 || shown["pacsgp_member_partitions"] != 2 {
		t.Errorf("it shows %v", shown)
	}
}
